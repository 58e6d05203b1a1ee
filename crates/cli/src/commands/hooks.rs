//! Shows the hooks there are, and tries them out.

mod test_hooks;

use clap::{Args, Subcommand};
use rooftree_protocol::{DefinitionLevel, Problem};
use rooftree_runtime::hooks::{ConfiguredHook, HookFailureMode, HookWait};
use serde::Serialize;

use crate::{
    environment::Environment,
    exit::Exit,
    hooks,
    human_format::place,
    listing::{self, ListFormat, ListItem, ListOutput},
    output, project_agents,
    sandbox::confining,
    secrets, settings,
    table::{ColumnShrink, TextTable},
    trust,
};

/// Options of `hooks`.
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(subcommand)]
    action: Action,
}

/// What to do.
#[derive(Debug, Subcommand)]
enum Action {
    /// List the hooks that are asked here, in the order they are asked
    #[command(visible_alias = "ls")]
    List {
        /// Print a JSON array
        #[arg(long, conflicts_with = "format")]
        json: bool,
        #[command(flatten)]
        output: ListOutput,
    },
    /// Run the hooks of one event with a sample event, and show what they answer
    Test(test_hooks::Arguments),
}

/// A hook as it is listed.
#[derive(Serialize)]
struct Row {
    event: &'static str,
    matcher: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    r#if: Option<String>,
    command: String,
    level: DefinitionLevel,
    file: String,
    timeout_secs: f64,
    r#async: bool,
    once: bool,
    /// What a failure means where something waits to pass.
    #[serde(skip_serializing_if = "Option::is_none")]
    fail: Option<&'static str>,
}

impl ListItem for Row {
    fn id(&self) -> String {
        self.command.clone()
    }
}

impl Row {
    fn of(hook: &ConfiguredHook) -> Self {
        let fail = if hook.on_failure == HookFailureMode::Open {
            "open"
        } else {
            "closed"
        };
        Self {
            event: hook.point.name(),
            matcher: hook.matcher.to_string(),
            r#if: hook.condition.as_ref().map(ToString::to_string),
            command: hook.name().to_owned(),
            level: hook.level,
            file: place(&hook.place),
            timeout_secs: hook.timeout.as_secs_f64(),
            r#async: hook.wait == HookWait::Background,
            once: hook.once.is_some(),
            fail: hook.point.is_gate().then_some(fail),
        }
    }
}

/// Does it.
pub async fn execute(arguments: Arguments, environment: &Environment) -> Result<Exit, Problem> {
    let settings = settings::load(environment)?;
    let places = project_agents::places(environment);
    let trust = trust::of(environment, &places);
    let places = places.trusted(trust);
    let mut found = hooks::find(environment, &settings, &places)?;
    for remark in &found.remarks {
        output::print_note(environment, remark);
    }
    if trust == rooftree_runtime::definitions::ProjectTrust::Missing {
        for path in hooks::brought(&places) {
            let path = place(&path);
            output::print_note(
                environment,
                &format!("not used, because this folder is not trusted: {path}"),
            );
        }
    }
    match arguments.action {
        Action::List { json, output } => {
            let rows: Vec<Row> = found.hooks.hooks.iter().map(Row::of).collect();
            let format = if json {
                ListFormat::Json
            } else {
                output.format
            };
            listing::print(&rows, format, listing::look(environment), table)?;
            if rows.is_empty() {
                output::print_note(environment, "no hooks are asked here");
            }
            Ok(Exit::DONE)
        }
        Action::Test(arguments) => {
            let known = secrets::known_with(environment, &settings);
            found.hooks.inheritance = secrets::inheritance(&known, &settings);
            let private = environment.private();
            let run_context = found
                .hooks
                .run_context(confining(None, None, &settings, private));
            test_hooks::execute(&arguments, environment, &found.hooks, &run_context).await
        }
    }
}

fn table(rows: &[Row]) -> TextTable {
    let mut table = TextTable::new([
        ("EVENT", ColumnShrink::Stiff),
        ("MATCHER", ColumnShrink::Soft),
        ("COMMAND", ColumnShrink::Soft),
        ("FILE", ColumnShrink::Spare),
    ]);
    for row in rows {
        table.row([
            row.event.to_owned(),
            row.matcher.clone(),
            row.command.clone(),
            row.file.clone(),
        ]);
    }
    table
}

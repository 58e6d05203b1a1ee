//! Shows the tools agents can use.

use std::sync::Arc;

use clap::{Args, Subcommand};
use rooftree_protocol::{Effect, ErrorCode, Problem, ToolKind};
use rooftree_runtime::assembly::known_tools;
use rooftree_tools::{Tool, Toolset, toolset::ToolLookup};
use serde::Serialize;
use serde_json::{Value, json};

use crate::{
    configured_models::ConfiguredModels,
    environment::Environment,
    exit::Exit,
    human_format::wrapped,
    listing::{self, ListFormat, ListItem, ListOutput, PageOutput},
    output,
    project_agents::ProjectAgents,
    settings,
    table::{ColumnShrink, TableStyle, TextTable},
};

/// Options of `tools`.
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(subcommand)]
    action: Action,
}

/// What to show.
#[derive(Debug, Subcommand)]
enum Action {
    /// List the tools
    #[command(visible_alias = "ls")]
    List {
        /// Only those this agent may use
        #[arg(short, long, value_name = "NAME")]
        agent: Option<String>,
        #[command(flatten)]
        output: ListOutput,
    },
    /// Show one tool: its names, what it does to the world, its arguments
    Show {
        /// Its name, or another name it answers to
        #[arg(value_name = "NAME")]
        name: String,
        #[command(flatten)]
        output: PageOutput,
    },
}

/// A tool as it is listed.
#[derive(Serialize)]
struct Row {
    name: String,
    aliases: &'static [&'static str],
    kind: ToolKind,
    /// What a call does to the world if nothing is known about its arguments.
    effect: Effect,
    description: String,
    input_schema: Value,
}

impl ListItem for Row {
    fn id(&self) -> String {
        self.name.clone()
    }
}

impl Row {
    fn of(tool: &dyn Tool) -> Self {
        let spec = tool.spec().clone();
        let effect = tool.effect(&json!({}));
        let (aliases, kind) = (tool.aliases(), tool.kind());
        Self {
            name: spec.name,
            aliases,
            kind,
            effect,
            description: spec.description,
            input_schema: spec.input_schema,
        }
    }
}

/// Prints it.
pub async fn execute(arguments: Arguments, environment: &Environment) -> Result<Exit, Problem> {
    let tools = known_tools();
    match arguments.action {
        Action::List { agent, output } => {
            list(&tools, agent.as_deref(), output.format, environment)?
        }
        Action::Show { name, output } if output.is_json() => {
            output::print(&output::json_page(&named(&tools, &name)?)?)?
        }
        Action::Show { name, .. } => {
            output::print(&page(&named(&tools, &name)?, listing::look(environment))?)?;
        }
    }
    Ok(Exit::DONE)
}

fn list(
    tools: &Toolset,
    agent: Option<&str>,
    format: ListFormat,
    environment: &Environment,
) -> Result<(), Problem> {
    let scoped = match agent {
        Some(name) => {
            let settings = settings::load(environment)?;
            let models = Arc::new(ConfiguredModels::of(environment, &settings)?);
            let project = ProjectAgents::find(environment, &settings, &models, None)?;
            let definition = project.definitions.find(name)?;
            tools
                .scoped(&definition.tools)
                .capable(&definition.capabilities)
        }
        None => tools.clone(),
    };
    let rows: Vec<Row> = scoped.iter().map(|tool| Row::of(tool.as_ref())).collect();
    listing::print(&rows, format, listing::look(environment), table)
}

fn table(rows: &[Row]) -> TextTable {
    let mut table = TextTable::new([
        ("NAME", ColumnShrink::Stiff),
        ("KIND", ColumnShrink::Spare),
        ("EFFECT", ColumnShrink::Stiff),
        ("WHAT IT DOES", ColumnShrink::Soft),
    ]);
    for row in rows {
        table.row([
            row.name.clone(),
            word(&row.kind),
            word(&row.effect),
            first_sentence(&row.description),
        ]);
    }
    table
}

/// Up to the first full stop that a new sentence follows.
fn first_sentence(text: &str) -> String {
    let begins = |after: &str| after.trim_start().starts_with(char::is_uppercase);
    let end = text
        .match_indices(". ")
        .find(|(at, _)| text.get(at + 1..).is_some_and(begins));
    end.and_then(|(at, _)| text.get(..=at))
        .unwrap_or(text)
        .to_owned()
}

fn named(tools: &Toolset, name: &str) -> Result<Row, Problem> {
    match tools.find(name) {
        ToolLookup::Tool(tool) => Ok(Row::of(tool.as_ref())),
        ToolLookup::Unknown => Err(Problem::new(
            ErrorCode::ToolNotFound,
            format!("there is no tool `{name}`"),
        )
        .fix(tools.suggestion(name))),
    }
}

fn page(row: &Row, look: TableStyle) -> Result<String, Problem> {
    let also = if row.aliases.is_empty() {
        "–".to_owned()
    } else {
        row.aliases.join(", ")
    };
    let facts = format!(
        "{}\n  also called: {also}\n  kind: {}\n  effect: {}\n",
        row.name,
        word(&row.kind),
        word(&row.effect)
    );
    let text = format!("{facts}\n{}\n\ninput\n", row.description);
    Ok(wrapped(&text, look.width) + &output::json_page(&row.input_schema)?)
}

/// A word of the protocol, spelled as in JSON but with blanks.
fn word(value: &impl Serialize) -> String {
    let spelled = serde_json::to_value(value).unwrap_or_default();
    spelled.as_str().unwrap_or_default().replace('_', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_ends_where_another_begins() {
        let table = [
            ("Read a file. Lines are numbered.", "Read a file."),
            (
                "Find files, e.g. all of them. Newest first.",
                "Find files, e.g. all of them.",
            ),
            ("No full stop", "No full stop"),
        ];
        for (text, wanted) in table {
            assert_eq!(first_sentence(text), wanted);
        }
    }
}

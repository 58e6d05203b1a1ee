//! Lists, adds and removes saved permission rules; lists those of the settings.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use clap::{Args, Subcommand, ValueEnum};
use rooftree_client::RuntimeClient;
use rooftree_protocol::{Command, ErrorCode, Problem, Timestamp, command::CommandReply};
use rooftree_runtime::{Clock, SystemClock, saved_rules};
use rooftree_store::{RuleKind, RuleRow, RuleScope};
use rooftree_tools::PermissionRule;
use serde::Serialize;

use crate::{
    commands::sessions::find::{self as sessions, LookupScope},
    control::named_owner,
    environment::Environment,
    exit::Exit,
    human_format::{ago, place},
    listing::{self, ListFormat, ListItem, ListOutput},
    output, rules,
    server_connection::{ServerConnection, address},
    settings,
    table::{ColumnShrink, TextTable},
    terminal::run_text::short,
};

/// Options of `permissions rules`.
#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Arguments {
    #[command(subcommand)]
    action: Option<Action>,
    /// Print a JSON array; the same as -o json
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    output: ListOutput,
}

/// What to do with rules.
#[derive(Debug, Subcommand)]
enum Action {
    /// Make a rule
    Add(AddRuleArguments),
    /// Take a rule away
    Rm {
        /// The number the list shows
        number: i64,
    },
}

/// Options of `permissions rules add`.
#[derive(Args, Debug)]
struct AddRuleArguments {
    /// For example Write, 'Write(src/**)' or 'Bash(git log *)'
    #[arg(value_name = "RULE")]
    rule: PermissionRule,
    /// It refuses instead of allowing
    #[arg(long, conflicts_with = "ask")]
    deny: bool,
    /// It has a person asked instead of allowing
    #[arg(long)]
    ask: bool,
    /// Where it holds
    #[arg(
        long = "for",
        value_enum,
        default_value_t,
        value_name = "WHERE",
        conflicts_with = "session"
    )]
    place: RuleLocation,
    /// It holds in this session only
    #[arg(short, long, value_name = "ID|NAME")]
    session: Option<String>,
}

/// Where a rule holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum RuleLocation {
    /// In the project around the working directory
    #[default]
    Project,
    /// Everywhere
    Always,
}

impl RuleLocation {
    /// The place for a rule that is made here.
    pub fn scope(self, environment: &Environment) -> RuleScope {
        match self {
            Self::Project => RuleScope::Project(saved_rules::project(&environment.cwd)),
            Self::Always => RuleScope::Always,
        }
    }
}

/// A rule as it is listed.
#[derive(Serialize)]
struct Row {
    /// Rules of settings have none: they are changed in their file.
    number: Option<i64>,
    kind: RuleKind,
    rule: String,
    /// Where it holds; the file for rules of settings.
    scope: Option<RuleScope>,
    file: Option<PathBuf>,
    by: Option<String>,
    at: Option<Timestamp>,
}

impl ListItem for Row {
    fn id(&self) -> String {
        self.number
            .map_or_else(|| self.rule.clone(), |number| number.to_string())
    }
}

/// Does it.
pub async fn execute(arguments: Arguments, environment: &Environment) -> Result<Exit, Problem> {
    match arguments.action {
        Some(Action::Add(add)) => self::add(add, environment).await,
        Some(Action::Rm { number }) => remove(number, environment).await,
        None => {
            let format = if arguments.json {
                ListFormat::Json
            } else {
                arguments.output.format
            };
            list(format, environment).await
        }
    }
}

async fn list(format: ListFormat, environment: &Environment) -> Result<Exit, Problem> {
    let mut rows: Vec<Row> = Vec::new();
    if let Some(client) = environment.client()? {
        rows.extend(client.rules().await?.into_iter().map(made_row));
    }
    // Rules of settings are files of the machine they are on: those of a server are not shown here.
    let sources = match address(environment) {
        Some(_) => Vec::new(),
        None => settings::sources(environment)?,
    };
    for (file, settings) in sources {
        let kinds = [
            (RuleKind::Deny, settings.permission.deny),
            (RuleKind::Ask, settings.permission.ask),
            (RuleKind::Allow, settings.permission.allow),
        ];
        for (kind, rules) in kinds {
            rows.extend(rules.iter().map(|rule| written_row(kind, rule, &file)));
        }
    }
    listing::print(&rows, format, listing::look(environment), table)?;
    if rows.is_empty() && format == ListFormat::Table {
        output::print_note(
            environment,
            "no rules; rooftree permissions rules add makes one",
        );
    }
    Ok(Exit::DONE)
}

fn made_row(row: RuleRow) -> Row {
    let RuleRow {
        number,
        kind,
        rule,
        scope,
        by,
        at,
    } = row;
    Row {
        number: Some(number),
        kind,
        rule,
        scope: Some(scope),
        file: None,
        by: Some(by),
        at: Some(at),
    }
}

fn written_row(kind: RuleKind, rule: &PermissionRule, file: &Path) -> Row {
    let (rule, file) = (rule.to_string(), Some(file.to_owned()));
    Row {
        number: None,
        kind,
        rule,
        scope: None,
        file,
        by: None,
        at: None,
    }
}

fn table(rows: &[Row]) -> TextTable {
    let now = SystemClock.now();
    let mut table = TextTable::new([
        ("NUMBER", ColumnShrink::Stiff),
        ("KIND", ColumnShrink::Stiff),
        ("RULE", ColumnShrink::Soft),
        ("WHERE", ColumnShrink::Soft),
        ("BY", ColumnShrink::Spare),
        ("MADE", ColumnShrink::Spare),
    ]);
    for row in rows {
        let file = row.file.as_deref().map(place);
        table.row([
            row.number
                .map(|number| number.to_string())
                .unwrap_or_default(),
            word(row.kind).to_owned(),
            row.rule.clone(),
            row.scope
                .as_ref()
                .map(scope_text)
                .or(file)
                .unwrap_or_default(),
            row.by.clone().unwrap_or_default(),
            row.at.map(|at| ago(now, at)).unwrap_or_default(),
        ]);
    }
    table
}

/// What a rule does, in a word.
pub fn word(kind: RuleKind) -> &'static str {
    match kind {
        RuleKind::Allow => "allow",
        RuleKind::Ask => "ask",
        RuleKind::Deny => "deny",
    }
}

/// Where a rule holds, in words.
pub fn scope_text(scope: &RuleScope) -> String {
    match scope {
        RuleScope::Session(session) => format!("session {}", short(session)),
        RuleScope::Project(root) => place(root),
        RuleScope::Always => "everywhere".into(),
    }
}

async fn add(add: AddRuleArguments, environment: &Environment) -> Result<Exit, Problem> {
    let [rule] = <[PermissionRule; 1]>::try_from(rules::known(vec![add.rule]).map_err(typed)?)
        .map_err(|_| Problem::new(ErrorCode::Internal, "one rule became several"))?;
    let kind = match (add.deny, add.ask) {
        (true, _) => RuleKind::Deny,
        (_, true) => RuleKind::Ask,
        _ => RuleKind::Allow,
    };
    let client = rule_client(environment)?;
    let scope = match &add.session {
        Some(session) => {
            let session = sessions::session(&*client, session, LookupScope::Live).await?;
            RuleScope::Session(session.id)
        }
        None => {
            refuse_foreign_project(add.place, environment)?;
            add.place.scope(environment)
        }
    };
    let said = save_rule(&*client, kind, &rule, scope).await?;
    output::print_note(environment, &said);
    Ok(Exit::DONE)
}

/// Saves a rule; says which.
pub async fn save_rule(
    client: &dyn RuntimeClient,
    kind: RuleKind,
    rule: &PermissionRule,
    scope: RuleScope,
) -> Result<String, Problem> {
    let holds = scope_text(&scope);
    let command = Command::AddRule {
        kind,
        rule: rule.to_string(),
        scope,
    };
    let CommandReply::Rule { number } = client.send(command).await? else {
        return Err(Problem::new(ErrorCode::Internal, "the rule has no number"));
    };
    Ok(format!("rule {number}: {} {rule} ({holds})", word(kind)))
}

async fn remove(number: i64, environment: &Environment) -> Result<Exit, Problem> {
    let client = environment.changing_client(named_owner())?;
    let client = client.ok_or_else(|| missing(number))?;
    let removed = client.send(Command::RemoveRule { number }).await?;
    if let CommandReply::Rule { .. } = removed {
        output::print_note(environment, &format!("rule {number} is gone"));
        return Ok(Exit::DONE);
    }
    Err(missing(number))
}

fn missing(number: i64) -> Problem {
    let message = format!("there is no rule {number}");
    Problem::new(ErrorCode::TaskNotFound, message).fix(
        "rooftree permissions rules shows the numbers; rules of settings are changed in their file",
    )
}

/// The runtime to save rules in, wherever it is; a database is made if there is none.
pub fn rule_client(environment: &Environment) -> Result<Arc<dyn RuntimeClient>, Problem> {
    if address(environment).is_none() {
        environment.control()?;
    }
    let client = environment.changing_client(named_owner())?;
    client.ok_or_else(|| Problem::new(ErrorCode::Internal, "there is no database"))
}

/// A directory of this machine is none of a server elsewhere.
fn refuse_foreign_project(place: RuleLocation, environment: &Environment) -> Result<(), Problem> {
    let server = ServerConnection::of(environment)?;
    if place == RuleLocation::Always || server.is_none_or(|server| server.is_local) {
        return Ok(());
    }
    let message = "a rule for the project of this directory means nothing to a server elsewhere";
    Err(Problem::new(ErrorCode::InvalidArguments, message)
        .fix("--for always, or --session ID for one of its sessions"))
}

fn typed(problem: Problem) -> Problem {
    Problem {
        code: ErrorCode::InvalidArguments,
        ..problem
    }
}

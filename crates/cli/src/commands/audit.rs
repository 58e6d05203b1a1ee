//! Prints the audit log: who changed sessions, rules, trust, settings, agents and keys.

use clap::Args;
use rooftree_protocol::{Principal, Problem, Timestamp};
use rooftree_runtime::{Clock, SystemClock};
use rooftree_store::{AuditPhase, AuditRow};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::{
    environment::Environment,
    exit::Exit,
    human_format,
    listing::{self, ListItem, ListOutput},
    output,
    table::{ColumnShrink, TextTable},
};

/// Options of `audit`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Only entries with a higher number than this
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    after: i64,
    /// At most so many
    #[arg(long, value_name = "COUNT", default_value_t = 100)]
    limit: usize,
    #[command(flatten)]
    output: ListOutput,
}

/// One entry, as it is printed.
#[derive(Serialize)]
struct Row {
    number: i64,
    at: Timestamp,
    who: Principal,
    action: String,
    subject: String,
    #[serde(skip_serializing_if = "Map::is_empty")]
    detail: Map<String, Value>,
    #[serde(flatten)]
    phase: AuditPhase,
}

impl ListItem for Row {
    fn id(&self) -> String {
        self.number.to_string()
    }
}

impl From<AuditRow> for Row {
    fn from(row: AuditRow) -> Self {
        let AuditRow { number, entry } = row;
        Self {
            number,
            at: entry.at,
            who: entry.who,
            action: entry.action,
            subject: entry.subject,
            detail: entry.detail,
            phase: entry.phase,
        }
    }
}

/// Prints the entries, the oldest first.
pub async fn execute(arguments: Arguments, environment: &Environment) -> Result<Exit, Problem> {
    let rows = match environment.queries()? {
        Some(queries) => queries
            .audit(arguments.after, arguments.limit)
            .await
            .map_err(|error| error.problem())?,
        None => Vec::new(),
    };
    let rows: Vec<Row> = rows.into_iter().map(Row::from).collect();
    let format = arguments.output.format;
    listing::print(&rows, format, listing::look(environment), table)?;
    if rows.is_empty() {
        output::print_note(environment, "no entries");
    } else if rows.len() == arguments.limit
        && let Some(last) = rows.last()
    {
        let more = format!("there may be more: rooftree audit --after {}", last.number);
        output::print_note(environment, &more);
    }
    Ok(Exit::DONE)
}

fn table(rows: &[Row]) -> TextTable {
    let now = SystemClock.now();
    let mut table = TextTable::new([
        ("NUMBER", ColumnShrink::Stiff),
        ("WHEN", ColumnShrink::Stiff),
        ("WHO", ColumnShrink::Spare),
        ("ACTION", ColumnShrink::Stiff),
        ("SUBJECT", ColumnShrink::Soft),
        ("STATE", ColumnShrink::Stiff),
    ]);
    for row in rows {
        table.row([
            row.number.to_string(),
            human_format::ago(now, row.at),
            person(&row.who),
            row.action.clone(),
            row.subject.clone(),
            state(row.phase),
        ]);
    }
    table
}

/// The person, and for whom he acts.
fn person(who: &Principal) -> String {
    match &who.on_behalf_of {
        Some(other) => format!("{} ({other})", who.person),
        None => who.person.clone(),
    }
}

fn state(phase: AuditPhase) -> String {
    match phase {
        AuditPhase::Done => "done".into(),
        AuditPhase::Intent => "intent".into(),
        AuditPhase::Completed(intent) => format!("completed {intent}"),
        AuditPhase::Failed(intent) => format!("failed {intent}"),
    }
}

//! Shows connectors: a list, and the state of one with its people, codes and undelivered messages.

use clap::Args;
use rooftree_protocol::Problem;
use rooftree_runtime::{Clock, Handle, SystemClock};
use rooftree_store::{ChatIdentity, ConnectorRow, OutboxCounts, PairingRow};
use serde::Serialize;

use super::find;
use crate::{
    control::owner,
    environment::Environment,
    exit::Exit,
    listing::{self, ListItem, ListOutput, PageOutput},
    output,
    table::{ColumnShrink, TextTable},
};

/// Options of `connectors list`.
#[derive(Args, Debug)]
pub(super) struct ConnectorListArguments {
    #[command(flatten)]
    output: ListOutput,
}

/// Options of `connectors status`.
#[derive(Args, Debug)]
pub(super) struct ConnectorStatusArguments {
    /// The name of the connector; all of them if absent
    name: Option<String>,
    #[command(flatten)]
    output: PageOutput,
}

/// A connector as it is shown.
#[derive(Serialize)]
struct ShownConnector {
    name: String,
    platform: String,
    agent: String,
    enabled: bool,
    settings: serde_json::Map<String, serde_json::Value>,
    health: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_error: Option<String>,
    people: Vec<ChatIdentity>,
    pending: Vec<ShownPairing>,
    outbox: OutboxCounts,
    revision: u64,
}

/// A code that waits.
#[derive(Serialize)]
struct ShownPairing {
    #[serde(skip_serializing_if = "Option::is_none")]
    sender: Option<String>,
    name: String,
    expires: rooftree_protocol::Timestamp,
}

impl From<PairingRow> for ShownPairing {
    fn from(row: PairingRow) -> Self {
        Self {
            sender: row.sender,
            name: row.name,
            expires: row.expires_at,
        }
    }
}

impl ListItem for ShownConnector {
    fn id(&self) -> String {
        self.name.clone()
    }
}

async fn shown(handle: &Handle, row: ConnectorRow) -> Result<ShownConnector, Problem> {
    let who = owner();
    let people = handle.chat_identities(&who, &row.name).await;
    let pending = handle.pairings(&who, &row.name).await;
    let counts = handle.outbox_counts(&who).await;
    let mut counts = counts.map_err(|error| error.problem())?.into_iter();
    let outbox = counts.find(|counts| counts.connector == row.name);
    let health = row.health;
    let state = health
        .as_ref()
        .map_or("off", |health| health.state.as_str());
    let pending = pending.map_err(|error| error.problem())?.into_iter();
    Ok(ShownConnector {
        health: state.to_owned(),
        reason: health.as_ref().and_then(|health| health.reason.clone()),
        last_error: health.and_then(|health| health.last_error),
        platform: row.fields.platform,
        agent: row.fields.agent,
        enabled: row.fields.enabled,
        settings: row.fields.settings,
        people: people.map_err(|error| error.problem())?,
        pending: pending.map(ShownPairing::from).collect(),
        outbox: outbox.unwrap_or_else(|| OutboxCounts {
            connector: row.name.clone(),
            ..OutboxCounts::default()
        }),
        revision: row.revision,
        name: row.name,
    })
}

async fn all(environment: &Environment) -> Result<Vec<ShownConnector>, Problem> {
    let Some(handle) = environment.reading()? else {
        return Ok(Vec::new());
    };
    let rows = handle.connectors(&owner()).await;
    let mut found = Vec::new();
    for row in rows.map_err(|error| error.problem())? {
        found.push(shown(&handle, row).await?);
    }
    Ok(found)
}

/// Lists connectors.
pub(super) async fn list(
    arguments: ConnectorListArguments,
    environment: &Environment,
) -> Result<Exit, Problem> {
    let rows = all(environment).await?;
    let look = listing::look(environment);
    listing::print(&rows, arguments.output.format, look, table)?;
    note_none(&rows, environment);
    Ok(Exit::DONE)
}

fn note_none(rows: &[ShownConnector], environment: &Environment) {
    if rows.is_empty() {
        let words = "no connectors: rooftree connectors add telegram --name home --agent lead";
        output::print_note(environment, words);
    }
}

fn table(rows: &[ShownConnector]) -> TextTable {
    let mut table = TextTable::new([
        ("NAME", ColumnShrink::Stiff),
        ("PLATFORM", ColumnShrink::Stiff),
        ("AGENT", ColumnShrink::Soft),
        ("HEALTH", ColumnShrink::Stiff),
        ("PEOPLE", ColumnShrink::Stiff),
        ("WHY", ColumnShrink::Spare),
    ]);
    for row in rows {
        let health = if row.enabled {
            row.health.clone()
        } else {
            "disabled".into()
        };
        table.row([
            row.name.clone(),
            row.platform.clone(),
            row.agent.clone(),
            health,
            row.people.len().to_string(),
            row.reason.clone().unwrap_or_default(),
        ]);
    }
    table
}

/// Shows one connector, or all.
pub(super) async fn status(
    arguments: ConnectorStatusArguments,
    environment: &Environment,
) -> Result<Exit, Problem> {
    let rows = match &arguments.name {
        None => all(environment).await?,
        Some(name) => {
            let handle = environment.control()?;
            let row = find(&handle, name).await?;
            vec![shown(&handle, row).await?]
        }
    };
    if arguments.output.is_json() {
        return output::print(&output::json_page(&rows)?).map(|()| Exit::DONE);
    }
    for row in &rows {
        output::print(&page(row))?;
    }
    note_none(&rows, environment);
    Ok(Exit::DONE)
}

/// How it is, and what would start it.
fn health(row: &ShownConnector) -> &str {
    match row.health.as_str() {
        _ if !row.enabled => "disabled; rooftree connectors set NAME --enable starts it",
        "off" => "off; rooftree serve starts it",
        other => other,
    }
}

fn page(row: &ShownConnector) -> String {
    let mut lines = vec![
        format!("{} ({}, agent {})", row.name, row.platform, row.agent),
        format!("  health: {}", health(row)),
    ];
    if let Some(reason) = &row.reason {
        lines.push(format!("  why: {reason}"));
    }
    if let Some(error) = row.last_error.as_ref().filter(|_| row.reason.is_none()) {
        lines.push(format!("  last error: {error}"));
    }
    let OutboxCounts {
        queued,
        failed,
        dead,
        ..
    } = &row.outbox;
    lines.push(format!(
        "  to deliver: {queued} queued, {failed} failed, {dead} given up"
    ));
    for one in &row.people {
        let rights = match (one.may_send, one.may_approve) {
            (true, true) => "writes, approves",
            (true, false) => "writes",
            (false, true) => "approves",
            (false, false) => "may do nothing",
        };
        lines.push(format!(
            "  {} · {} · is {} · {rights}",
            one.sender, one.name, one.person
        ));
    }
    let now = SystemClock.now();
    for one in &row.pending {
        let minutes = one.expires.0.saturating_sub(now.0) / 60_000;
        let who = match &one.sender {
            Some(sender) => format!("{} ({sender})", one.name),
            None => "whoever sends it".to_owned(),
        };
        lines.push(format!("  a code waits for {who}, {minutes} more minutes"));
    }
    lines.join("\n") + "\n"
}

//! The outbox: lists messages to chats and how far their delivery is, retries and drops them.

use std::collections::HashSet;

use clap::{Args, Subcommand};
use rooftree_protocol::{ErrorCode, OutboxInfo, OutboxState, Problem};
use rooftree_runtime::{Clock, Handle, OutboxQuery, SystemClock};
use rooftree_stdx::shorten::shorten_first_line;
use rooftree_store::{OutboxRow, OutboxWish};

use crate::{
    control::owner,
    environment::Environment,
    exit::Exit,
    human_format,
    listing::{self, ListItem, ListOutput, PageOutput},
    output,
    table::{ColumnShrink, TextTable},
};

/// Messages that an ending of an id is looked for in.
const LOOKED_AT: usize = 500;
/// Letters of the end of an id that are listed at least.
const LEAST_ENDING: usize = 8;

/// Options of `outbox`.
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(subcommand)]
    action: OutboxAction,
}

#[derive(Debug, Subcommand)]
enum OutboxAction {
    /// List messages to chats, the newest first
    #[command(visible_alias = "ls")]
    List(OutboxListArguments),
    /// Deliver a message again that failed or may not have arrived
    Retry(OutboxChangeArguments),
    /// Give up a message that is not sent
    #[command(visible_alias = "rm")]
    Drop(OutboxChangeArguments),
}

/// Options of `outbox list`.
#[derive(Args, Debug)]
struct OutboxListArguments {
    /// Only those in this state; may be given several times
    #[arg(long = "state", value_name = "STATE", value_delimiter = ',', value_parser = state)]
    states: Vec<OutboxState>,
    /// Only those to this connector
    #[arg(long, value_name = "NAME")]
    connector: Option<String>,
    /// At most so many
    #[arg(long, value_name = "COUNT", default_value_t = 50)]
    limit: usize,
    #[command(flatten)]
    output: ListOutput,
}

/// Options of `outbox retry` and `outbox drop`.
#[derive(Args, Debug)]
struct OutboxChangeArguments {
    /// Its id or the end of it
    message: String,
    #[command(flatten)]
    output: PageOutput,
}

/// A state by the word that people write.
fn state(word: &str) -> Result<OutboxState, String> {
    let known = OutboxState::ALL;
    known
        .into_iter()
        .find(|state| state.name() == word)
        .ok_or_else(|| {
            let names = known.map(OutboxState::name);
            format!("`{word}` is not a state; write one of {}", names.join(", "))
        })
}

impl ListItem for OutboxInfo {
    fn id(&self) -> String {
        self.id.clone()
    }
}

/// Does it.
pub async fn execute(arguments: Arguments, environment: &Environment) -> Result<Exit, Problem> {
    match arguments.action {
        OutboxAction::List(arguments) => list(arguments, environment).await,
        OutboxAction::Retry(arguments) => change(arguments, OutboxWish::Retry, environment).await,
        OutboxAction::Drop(arguments) => change(arguments, OutboxWish::Drop, environment).await,
    }
}

async fn list(arguments: OutboxListArguments, environment: &Environment) -> Result<Exit, Problem> {
    let states = arguments.states;
    let query = OutboxQuery {
        connector: arguments.connector,
        states: (!states.is_empty()).then_some(states),
        before: None,
        limit: arguments.limit,
    };
    let rows = match environment.reading()? {
        Some(handle) => found(&handle, query).await?,
        None => Vec::new(),
    };
    let rows: Vec<OutboxInfo> = rows.into_iter().map(OutboxRow::info).collect();
    let look = listing::look(environment);
    listing::print(&rows, arguments.output.format, look, table)?;
    if rows.is_empty() {
        output::print_note(environment, "no messages to chats");
    }
    Ok(Exit::DONE)
}

async fn found(handle: &Handle, query: OutboxQuery) -> Result<Vec<OutboxRow>, Problem> {
    let found = handle.outbox(&owner(), query).await;
    Ok(found.map_err(|error| error.problem())?.rows)
}

/// How many letters of the ends of ids tell the listed messages apart.
fn ending_length(rows: &[OutboxInfo]) -> usize {
    let longest = rows.iter().map(|row| row.id.len()).max().unwrap_or(0);
    let is_enough = |length: &usize| {
        let mut seen = HashSet::new();
        rows.iter().all(|row| seen.insert(ending(&row.id, *length)))
    };
    (LEAST_ENDING..longest).find(is_enough).unwrap_or(longest)
}

fn ending(id: &str, length: usize) -> &str {
    id.get(id.len().saturating_sub(length)..).unwrap_or(id)
}

fn table(rows: &[OutboxInfo]) -> TextTable {
    let now = SystemClock.now();
    let mut table = TextTable::new([
        ("ID", ColumnShrink::Stiff),
        ("STATE", ColumnShrink::Stiff),
        ("KIND", ColumnShrink::Stiff),
        ("TARGET", ColumnShrink::Spare),
        ("WHEN", ColumnShrink::Stiff),
        ("TEXT", ColumnShrink::Soft),
        ("ERROR", ColumnShrink::Soft),
    ]);
    let length = ending_length(rows);
    for row in rows {
        table.row([
            ending(&row.id, length).to_owned(),
            row.state.name().to_owned(),
            row.kind.clone(),
            row.target.clone(),
            human_format::ago(now, row.created),
            shorten_first_line(&row.text, 60),
            row.error.clone().unwrap_or_default(),
        ]);
    }
    table
}

async fn change(
    arguments: OutboxChangeArguments,
    wish: OutboxWish,
    environment: &Environment,
) -> Result<Exit, Problem> {
    let handle = environment.control()?;
    let id = whole_id(&handle, &arguments.message).await?;
    let changed = handle.change_outbox(&owner(), &id, wish).await;
    let changed = changed.map_err(|error| error.problem())?.info();
    if arguments.output.is_json() {
        output::print(&output::json_page(&changed)?)?;
    } else {
        let words = match wish {
            OutboxWish::Retry => "will be delivered again",
            OutboxWish::Drop => "dropped",
        };
        output::print(&format!("{} to {}: {words}\n", changed.id, changed.target))?;
    }
    Ok(Exit::DONE)
}

/// The id that ends so.
async fn whole_id(handle: &Handle, wanted: &str) -> Result<String, Problem> {
    let query = OutboxQuery {
        limit: LOOKED_AT,
        ..OutboxQuery::default()
    };
    let rows = found(handle, query).await?;
    let ids = rows.into_iter().map(|row| row.post.id);
    let mut ending: Vec<String> = ids.filter(|id| id.ends_with(wanted)).collect();
    match (ending.pop(), ending.is_empty()) {
        (Some(id), true) => Ok(id),
        (Some(_), false) => {
            let message = format!("several messages have an id that ends with `{wanted}`");
            Err(Problem::new(ErrorCode::InvalidArguments, message).fix("write more of it"))
        }
        (None, _) => Ok(wanted.to_owned()),
    }
}

//! Prints a session's events as the protocol spells them, and follows them.

use std::time::Duration;

use clap::Args;
use rooftree_protocol::{ErrorCode, Event, Problem, Session};
use rooftree_runtime::Queries;

use super::{
    existing,
    find::{self, LookupScope},
    journal, transcript,
};
use crate::{
    environment::Environment,
    exit::Exit,
    human_format,
    listing::{self, ListFormat, ListItem},
    output::{self, StdoutReader},
    table::{ColumnShrink, TextTable},
};

/// Polling interval, in case a change notification is missed.
const PATIENCE: Duration = Duration::from_secs(1);

/// Options of `sessions events`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Which session: its id, the last 4 or more characters of it, or its name
    #[arg(value_name = "ID")]
    session: String,
    /// Only events after this one
    #[arg(
        long,
        value_name = "EVENT",
        default_value_t = 0,
        hide_default_value = true
    )]
    since: u64,
    /// Go on printing what happens, until Ctrl-C
    #[arg(short, long)]
    follow: bool,
    /// How to print them
    #[arg(
        short = 'o',
        long = "output-format",
        value_enum,
        default_value = "jsonl",
        value_name = "FORMAT"
    )]
    format: ListFormat,
}

impl ListItem for Event {
    fn id(&self) -> String {
        self.id.map(|id| id.to_string()).unwrap_or_default()
    }
}

/// Prints them.
pub async fn execute(arguments: Arguments, environment: &Environment) -> Result<Exit, Problem> {
    let store = existing(environment)?;
    let session = find::session(&store, &arguments.session, LookupScope::Live).await?;
    refuse_unknown(&session, arguments.since)?;
    match (arguments.follow, arguments.format) {
        (_, ListFormat::Jsonl | ListFormat::Ids) => stream(&store, &session, &arguments).await?,
        (false, format) => {
            let mut events = journal::whole(&store, &session).await?;
            events.retain(|event| event.id > Some(arguments.since));
            listing::print(&events, format, listing::look(environment), table)?;
        }
        (true, ListFormat::Json | ListFormat::Table) => {
            let message = "what goes on cannot be printed as one array or table";
            return Err(Problem::new(ErrorCode::InvalidArguments, message)
                .fix("use -o jsonl or -o ids with --follow"));
        }
    }
    Ok(Exit::DONE)
}

/// A place that does not exist is an error: answering with everything, or with nothing, would
/// hide that the caller is out of step.
fn refuse_unknown(session: &Session, since: u64) -> Result<(), Problem> {
    if since <= session.head {
        return Ok(());
    }
    let message = format!("session {} has no event {since}", session.id);
    Err(Problem::new(ErrorCode::InvalidArguments, message)
        .cause(format!("its last event is {}", session.head))
        .fix("leave out --since to see all of them"))
}

/// Prints events line by line, as they are read, until there are no more or the reader closes the pipe.
async fn stream(store: &Queries, session: &Session, arguments: &Arguments) -> Result<(), Problem> {
    let mut changes = arguments.follow.then(|| store.changes());
    let mut after = arguments.since;
    loop {
        let page = journal::page(store, session, after).await?;
        after = page.last().and_then(|event| event.id).unwrap_or(after);
        if output::write(&lines(&page, arguments.format)?)? == StdoutReader::Gone {
            return Ok(());
        }
        match &mut changes {
            _ if !page.is_empty() => {}
            None => return Ok(()),
            Some(changes) => {
                // A notification may be missed: then the timeout polls.
                let _ = tokio::time::timeout(PATIENCE, changes.changed()).await;
            }
        }
    }
}

fn lines(page: &[Event], format: ListFormat) -> Result<String, Problem> {
    match format {
        ListFormat::Ids => Ok(page
            .iter()
            .map(|event| ListItem::id(event) + "\n")
            .collect()),
        _ => page.iter().map(output::json_line).collect(),
    }
}

fn table(events: &[Event]) -> TextTable {
    let columns = [
        ("EVENT", ColumnShrink::Stiff),
        ("TIME", ColumnShrink::Spare),
        ("TYPE", ColumnShrink::Stiff),
        ("WHAT", ColumnShrink::Soft),
    ];
    let mut table = TextTable::new(columns);
    for event in events {
        let what = transcript::entry(event)
            .map(|entry| entry.in_short())
            .unwrap_or_default();
        table.row([
            ListItem::id(event),
            human_format::moment(event.ts),
            event.body.name().to_owned(),
            what,
        ]);
    }
    table
}

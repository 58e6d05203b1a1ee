//! Lists the messages that wait for a session's agent, withdraws and replaces them.

use clap::{Args, Subcommand};
use rooftree_client::WaitingMessage;
use rooftree_protocol::{Command, Lane, MessageId, Part, Problem, Timestamp};
use rooftree_runtime::{Clock, SystemClock};
use serde::Serialize;

use super::{
    changer,
    find::{self, LookupScope},
};
use crate::{
    environment::Environment,
    exit::Exit,
    human_format,
    listing::{self, ListItem, ListOutput},
    output,
    table::{ColumnShrink, TextTable},
};

/// Options of `sessions queue`.
#[derive(Args, Debug)]
#[command(
    args_conflicts_with_subcommands = false,
    subcommand_precedence_over_arg = true
)]
pub struct Arguments {
    /// Which session: its id, the last 4 or more characters of it, or its name
    #[arg(value_name = "ID")]
    session: String,
    #[command(subcommand)]
    action: Option<QueueAction>,
    #[command(flatten)]
    output: ListOutput,
}

/// What to do with a message that waits.
#[derive(Debug, Subcommand)]
enum QueueAction {
    /// Take a message back; refused once the agent has taken it
    Withdraw {
        /// Which message
        #[arg(value_name = "MESSAGE")]
        message: String,
    },
    /// Change what a message says; its place stays
    Replace {
        /// Which message
        #[arg(value_name = "MESSAGE")]
        message: String,
        /// What it says from now on
        #[arg(value_name = "TEXT", required = true)]
        words: Vec<String>,
    },
}

/// A message that waits.
#[derive(Serialize)]
struct WaitingMessageRow {
    message: MessageId,
    lane: Lane,
    position: u64,
    text: String,
    silent: bool,
    withdrawn: bool,
    revision: u32,
    at: Timestamp,
}

impl ListItem for WaitingMessageRow {
    fn id(&self) -> String {
        self.message.to_string()
    }
}

/// Lists what waits, or changes one of it.
pub async fn execute(arguments: Arguments, environment: &Environment) -> Result<Exit, Problem> {
    let client = changer(environment)?;
    let session = find::session(&*client, &arguments.session, LookupScope::Live).await?;
    let Some(action) = arguments.action else {
        let waiting = client.waiting(&session.id).await?;
        let rows: Vec<_> = waiting.into_iter().map(WaitingMessageRow::from).collect();
        let look = listing::look(environment);
        listing::print(&rows, arguments.output.format, look, table)?;
        if rows.is_empty() {
            output::print_note(environment, "no message waits");
        }
        return Ok(Exit::DONE);
    };
    let session = session.id;
    let (command, said) = match action {
        QueueAction::Withdraw { message } => {
            let message = MessageId::parse(&message)?;
            let said = format!("{message} is withdrawn");
            (Command::Withdraw { session, message }, said)
        }
        QueueAction::Replace { message, words } => {
            let message = MessageId::parse(&message)?;
            let said = format!("{message} is replaced");
            let parts = vec![Part::text(words.join(" "))];
            let command = Command::Replace {
                session,
                message,
                parts,
            };
            (command, said)
        }
    };
    client.send(command).await?;
    output::print_note(environment, &said);
    Ok(Exit::DONE)
}

impl From<WaitingMessage> for WaitingMessageRow {
    fn from(waiting: WaitingMessage) -> Self {
        let texts = waiting.parts.iter().filter_map(|part| match part {
            Part::Text { text } => Some(text.as_str()),
            _ => None,
        });
        Self {
            text: texts.collect::<Vec<_>>().join("\n"),
            message: waiting.message,
            lane: waiting.lane,
            position: waiting.position,
            silent: waiting.silent,
            withdrawn: waiting.withdrawn,
            revision: waiting.revision,
            at: waiting.at,
        }
    }
}

fn table(rows: &[WaitingMessageRow]) -> TextTable {
    let now = SystemClock.now();
    let mut table = TextTable::new([
        ("MESSAGE", ColumnShrink::Stiff),
        ("DELIVERY", ColumnShrink::Stiff),
        ("SENT", ColumnShrink::Stiff),
        ("TEXT", ColumnShrink::Soft),
    ]);
    for row in rows {
        let delivery = match (row.lane, row.silent, row.withdrawn) {
            (_, _, true) => "withdrawn",
            (Lane::Mail, ..) => "queue",
            (Lane::Boundary, true, _) => "silent",
            (Lane::Boundary, false, _) => "steer",
        };
        let words: Vec<&str> = row.text.split_whitespace().collect();
        table.row([
            row.message.to_string(),
            delivery.to_owned(),
            human_format::ago(now, row.at),
            words.join(" "),
        ]);
    }
    table
}

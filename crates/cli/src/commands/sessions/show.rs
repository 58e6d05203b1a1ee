//! Prints a session as a conversation.

use clap::{Args, ValueEnum};
use rooftree_protocol::{Problem, Session};
use rooftree_runtime::{Clock, SystemClock};
use serde_json::json;

use super::{
    find::{self, LookupScope},
    journal, reader,
    transcript::{
        self,
        terminal_text::{TranscriptDetail, TranscriptPrinter},
    },
};
use crate::{
    environment::Environment,
    exit::Exit,
    human_format, listing, output,
    terminal::{
        run_text::{counted, model},
        sanitize::clean_line,
    },
};

/// Options of `sessions show`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Which session: its id, the last 4 or more characters of it, or its name
    #[arg(value_name = "ID")]
    session: String,
    /// Show everything tools said and changed
    #[arg(long)]
    full: bool,
    /// How to print it
    #[arg(
        short = 'o',
        long = "output-format",
        value_enum,
        default_value_t,
        value_name = "FORMAT"
    )]
    format: SessionShowFormat,
}

/// How a conversation is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum SessionShowFormat {
    /// For people
    #[default]
    Text,
    /// One JSON object: the session and what was said
    Json,
}

/// Prints it.
pub async fn execute(arguments: Arguments, environment: &Environment) -> Result<Exit, Problem> {
    let client = reader(environment)?;
    let session = find::session(&*client, &arguments.session, LookupScope::Live).await?;
    let events = journal::read(&*client, &session).await?;
    let entries = transcript::entries(&events);
    let text = match arguments.format {
        SessionShowFormat::Json => {
            output::json_page(&json!({ "session": session, "transcript": entries }))?
        }
        SessionShowFormat::Text => {
            let detail = if arguments.full {
                TranscriptDetail::Full
            } else {
                TranscriptDetail::Short
            };
            let pen = TranscriptPrinter {
                look: listing::look(environment),
                detail,
            };
            format!(
                "{}\n{}",
                human_format::wrapped(&heading(&session), pen.look.width),
                pen.text(&entries)
            )
        }
    };
    output::print(&text)?;
    Ok(Exit::DONE)
}

fn heading(session: &Session) -> String {
    let mut first = vec![session.id.to_string(), session.agent.clone()];
    first.extend(session.name.as_deref().map(clean_line));
    first.extend(session.model.as_deref().map(model));
    let second = [
        format!("opened {}", human_format::moment(session.created_at)),
        format!(
            "updated {}",
            human_format::ago(SystemClock.now(), session.updated_at)
        ),
        counted(session.head, "event"),
        human_format::place(&session.cwd),
    ];
    let forked = session.forked_from.as_ref();
    let forked =
        forked.map(|point| format!("forked from {} at event {}\n", point.session, point.at));
    format!(
        "{}\n{}\n{}",
        first.join(" · "),
        second.join(" · "),
        forked.unwrap_or_default()
    )
}

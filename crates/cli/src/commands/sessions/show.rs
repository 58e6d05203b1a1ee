//! Prints a session as a conversation.

use clap::{Args, ValueEnum};
use rooftree_protocol::{Problem, Session};
use rooftree_runtime::{Clock, SystemClock};
use serde_json::json;

use super::{
    find::{self, Among},
    journal, to_read_one,
    transcript::{
        self,
        page::{Detail, Pen},
    },
};
use crate::{
    environment::Environment,
    exit::Exit,
    listing, output,
    terminal::{
        clean::clean_line,
        wording::{counted, model},
    },
    wording,
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
    #[arg(short = 'o', long = "output-format", value_enum, default_value_t, value_name = "FORMAT")]
    format: Form,
}

/// How a conversation is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Form {
    /// For people
    #[default]
    Text,
    /// One JSON object: the session and what was said
    Json,
}

/// Prints it.
pub async fn execute(arguments: Arguments, environment: &Environment) -> Result<Exit, Problem> {
    let store = to_read_one(environment)?;
    let session = find::session(store.as_ref(), &arguments.session, Among::Live).await?;
    let events = journal::whole(store.as_ref(), &session).await?;
    let entries = transcript::entries(&events);
    let text = match arguments.format {
        Form::Json => output::json_page(&json!({ "session": session, "transcript": entries }))?,
        Form::Text => {
            let detail = if arguments.full { Detail::Full } else { Detail::Short };
            let pen = Pen { look: listing::look(environment), detail };
            format!("{}\n{}", wording::wrapped(&heading(&session), pen.look.width), pen.text(&entries))
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
        format!("opened {}", wording::moment(session.created_at)),
        format!("updated {}", wording::ago(SystemClock.now(), session.updated_at)),
        counted(session.head, "event"),
        wording::place(&session.cwd),
    ];
    let forked = session.forked_from.as_ref();
    let forked = forked.map(|point| format!("forked from {} at event {}\n", point.session, point.at));
    format!("{}\n{}\n{}", first.join(" · "), second.join(" · "), forked.unwrap_or_default())
}

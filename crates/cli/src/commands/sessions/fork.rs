//! Branches a new session off another one's journal. Nothing is copied, and the parent is untouched.

use clap::Args;
use rooftree_protocol::{Command, ErrorCode, Problem, Session};

use super::{
    changer,
    find::{self, LookupScope},
    name,
};
use crate::{
    control::changed_session, environment::Environment, exit::Exit, output,
    terminal::run_text::how_to_continue,
};

/// Options of `sessions fork`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Which session: its id, the last 4 or more characters of it, or its name
    #[arg(value_name = "ID")]
    session: String,
    /// The last event to take over; the newest if absent
    #[arg(long, value_name = "EVENT")]
    at: Option<u64>,
    /// What to call the new session
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
}

/// Prints the new session's id.
pub async fn execute(arguments: Arguments, environment: &Environment) -> Result<Exit, Problem> {
    let name = arguments
        .name
        .as_deref()
        .map(name::checked)
        .transpose()?
        .flatten();
    let client = changer(environment)?;
    let parent = find::session(&*client, &arguments.session, LookupScope::Live).await?;
    let at = place(&parent, arguments.at)?;
    let command = Command::Fork {
        session: parent.id.clone(),
        at: Some(at),
        name,
        agent: None,
        message: None,
    };
    let forked = changed_session(&*client, command).await?;
    output::print(&format!("{}\n", forked.id))?;
    let next = format!(
        "forked {} at event {at}; continue with: {}",
        parent.id,
        how_to_continue(&forked.id)
    );
    output::print_note(environment, &next);
    Ok(Exit::DONE)
}

fn place(parent: &Session, asked: Option<u64>) -> Result<u64, Problem> {
    match asked {
        None => Ok(parent.head),
        Some(at) if (1..=parent.head).contains(&at) => Ok(at),
        Some(at) => {
            let message = format!("session {} has no event {at}", parent.id);
            Err(Problem::new(ErrorCode::InvalidArguments, message)
                .cause(format!("its events are numbered 1 to {}", parent.head))
                .fix(format!(
                    "rooftree sessions events {} -o table shows them",
                    parent.id
                )))
        }
    }
}

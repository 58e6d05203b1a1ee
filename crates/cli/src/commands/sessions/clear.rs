//! Clears the context of a session. Identity, metadata and journal stay: a marker is appended.

use clap::Args;
use rooftree_protocol::{Command, Problem, command::CommandReply};

use super::{
    changer,
    find::{self, LookupScope},
};
use crate::{environment::Environment, exit::Exit, output};

/// Options of `sessions clear`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Which session: its id, the last 4 or more characters of it, or its name
    #[arg(value_name = "ID")]
    session: String,
    /// Also while a process works on it: its run is stopped
    #[arg(long)]
    force: bool,
}

/// Does it, or leaves it to the process that works on the session.
pub async fn execute(arguments: Arguments, environment: &Environment) -> Result<Exit, Problem> {
    let client = changer(environment)?;
    let found = find::session(&*client, &arguments.session, LookupScope::Live).await?;
    let id = found.id;
    let work = client.session_work(&id).await?;
    let command = Command::Clear {
        session: id.clone(),
        unless_busy: !arguments.force,
    };
    let said = match client.send(command).await? {
        CommandReply::Forwarded => {
            let process = work.elsewhere.unwrap_or_else(|| "a process".into());
            format!("{process} works on session {id}; it stops its run and clears it")
        }
        _ => format!("session {id} starts anew; what was said stays in its journal"),
    };
    output::print_note(environment, &said);
    Ok(Exit::DONE)
}

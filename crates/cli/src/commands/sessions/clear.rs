//! Clears the context of a session. Identity, metadata and journal stay: a marker is appended.

use clap::Args;
use rooftree_protocol::{Command, Problem, command::CommandReply};

use super::{
    control,
    find::{self, LookupScope},
    in_words,
};
use crate::{
    control::{owner, send},
    environment::Environment,
    exit::Exit,
    output,
};

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
    let handle = control(environment)?;
    let queries = handle.queries(&owner());
    let id = find::session(&queries, &arguments.session, LookupScope::Live)
        .await?
        .id;
    let held = queries.owner(&id).await.map_err(in_words)?;
    let command = Command::Clear {
        session: id.clone(),
        unless_busy: !arguments.force,
    };
    let said = match send(&handle, command).await? {
        CommandReply::Forwarded => {
            let process = held.map_or_else(String::new, |owner| format!(" {}", owner.pid));
            format!("process{process} works on session {id}; it stops its run and clears it")
        }
        _ => format!("session {id} starts anew; what was said stays in its journal"),
    };
    output::print_note(environment, &said);
    Ok(Exit::DONE)
}

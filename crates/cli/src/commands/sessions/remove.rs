//! Deletes sessions. Asks nothing, because it can be undone.

use clap::Args;
use rooftree_protocol::{Command, Problem, Session};

use super::{
    changer,
    find::{self, LookupScope},
};
use crate::{environment::Environment, exit::Exit, output};

/// Options of `sessions rm`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Which sessions: ids, the last 4 or more characters of them, or names
    #[arg(required = true, value_name = "ID")]
    sessions: Vec<String>,
}

/// Deletes all of them, or none if one of them is not there.
pub async fn execute(arguments: Arguments, environment: &Environment) -> Result<Exit, Problem> {
    let client = changer(environment)?;
    let mut sessions: Vec<Session> = Vec::new();
    for typed in &arguments.sessions {
        let session = find::session(&*client, typed, LookupScope::Live).await?;
        if !sessions.iter().any(|known| known.id == session.id) {
            sessions.push(session);
        }
    }
    for Session { id, .. } in &sessions {
        let session = id.clone();
        client.send(Command::Delete { session }).await?;
        output::print_note(
            environment,
            &format!("deleted {id}; to undo: rooftree sessions restore {id}"),
        );
    }
    Ok(Exit::DONE)
}

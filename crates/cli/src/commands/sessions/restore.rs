//! Restores a deleted session.

use clap::Args;
use rooftree_protocol::{Command, ErrorCode, Problem};

use super::{
    changer,
    find::{self, LookupScope},
};
use crate::{environment::Environment, exit::Exit, output};

/// Options of `sessions restore`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Which session: its id, the last 4 or more characters of it, or its name
    #[arg(value_name = "ID")]
    session: String,
}

/// Restores it. The store refuses if another session has taken the name by now.
pub async fn execute(arguments: Arguments, environment: &Environment) -> Result<Exit, Problem> {
    let client = changer(environment)?;
    let found = find::session(&*client, &arguments.session, LookupScope::Deleted).await?;
    let session = found.id;
    let command = Command::Restore {
        session: session.clone(),
    };
    client
        .send(command)
        .await
        .map_err(|problem| match (&found.name, problem.code) {
            (Some(name), ErrorCode::InvalidArguments) => problem
                .cause(format!(
                    "the session was deleted and another one is called `{name}` now"
                ))
                .fix(format!(
                    "rename that one first: rooftree sessions rename {name:?} NEW-NAME"
                )),
            _ => problem,
        })?;
    output::print_note(environment, &format!("session {session} is back"));
    Ok(Exit::DONE)
}

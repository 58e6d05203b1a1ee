//! Restores a deleted session.

use clap::Args;
use rooftree_protocol::{Command, Problem};

use super::{
    control,
    find::{self, LookupScope},
};
use crate::{control::owner, environment::Environment, exit::Exit, output};

/// Options of `sessions restore`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Which session: its id, the last 4 or more characters of it, or its name
    #[arg(value_name = "ID")]
    session: String,
}

/// Restores it. The store refuses if another session has taken the name by now.
pub async fn execute(arguments: Arguments, environment: &Environment) -> Result<Exit, Problem> {
    let handle = control(environment)?;
    let queries = handle.queries(&owner());
    let session = find::session(&queries, &arguments.session, LookupScope::Deleted).await?;
    let session = session.id;
    let command = Command::Restore {
        session: session.clone(),
    };
    let restored = handle.send(&owner(), command).await;
    restored.map_err(|error| match &error {
        rooftree_runtime::Error::Store(rooftree_store::Error::NameTaken(name)) => error
            .problem()
            .cause(format!(
                "the session was deleted and another one is called `{name}` now"
            ))
            .fix(format!(
                "rename that one first: rooftree sessions rename {name:?} NEW-NAME"
            )),
        _ => error.problem(),
    })?;
    output::print_note(environment, &format!("session {session} is back"));
    Ok(Exit::DONE)
}

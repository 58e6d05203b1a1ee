//! Sets or removes the name of a session.

use clap::Args;
use rooftree_protocol::{Command, Problem};

use super::{
    control,
    find::{self, LookupScope},
    name,
};
use crate::{
    control::{owner, send_for_session},
    environment::Environment,
    exit::Exit,
    output,
};

/// Options of `sessions rename`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Which session: its id, the last 4 or more characters of it, or its name
    #[arg(value_name = "ID")]
    session: String,
    /// The new name; "" takes the name away
    #[arg(value_name = "NAME")]
    name: String,
}

/// Does it.
pub async fn execute(arguments: Arguments, environment: &Environment) -> Result<Exit, Problem> {
    let name = name::checked(&arguments.name)?;
    let handle = control(environment)?;
    let queries = handle.queries(&owner());
    let session = find::session(&queries, &arguments.session, LookupScope::Live).await?;
    let command = Command::Rename {
        session: session.id,
        name,
    };
    let session = send_for_session(&handle, command).await?;
    let said = match &session.name {
        Some(name) => format!("session {} is called `{name}` now", session.id),
        None => format!("session {} has no name now", session.id),
    };
    output::print_note(environment, &said);
    Ok(Exit::DONE)
}

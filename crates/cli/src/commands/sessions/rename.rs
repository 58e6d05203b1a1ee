//! Sets or removes the name of a session.

use clap::Args;
use rooftree_protocol::{Command, Problem};

use super::{change, name};
use crate::{environment::Environment, exit::Exit, output};

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
    let command = |session| Command::Rename { session, name };
    let session = change(environment, &arguments.session, command).await?;
    let said = match &session.name {
        Some(name) => format!("session {} is called `{name}` now", session.id),
        None => format!("session {} has no name now", session.id),
    };
    output::print_note(environment, &said);
    Ok(Exit::DONE)
}

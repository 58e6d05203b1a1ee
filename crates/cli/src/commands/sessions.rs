//! Lists, reads and changes sessions.

use clap::Args;
use rooftree_protocol::Problem;

use crate::{environment::Environment, exit::Exit};

/// Options of this command.
#[derive(Args, Debug)]
pub struct Arguments {}

/// Does it.
pub async fn execute(_arguments: Arguments, _environment: &Environment) -> Result<Exit, Problem> {
    Ok(Exit::DONE)
}

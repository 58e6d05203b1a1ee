//! What can be done: one command, one file, each with `Arguments` and `execute`.

pub mod completions;
pub mod demo;
pub mod doctor;
pub mod run;
pub mod sessions;
pub mod tools;
pub mod version;

use rooftree_protocol::Problem;

use crate::{arguments::Command, environment::Environment, exit::Exit};

/// Does what was asked for.
pub async fn execute(command: Command, environment: &Environment) -> Result<Exit, Problem> {
    match command {
        Command::Run(arguments) => run::execute(arguments, environment).await,
        Command::Demo(arguments) => demo::execute(arguments, environment).await,
        Command::Sessions(arguments) => sessions::execute(arguments, environment).await,
        Command::Doctor(arguments) => doctor::execute(arguments, environment).await,
        Command::Tools(arguments) => tools::execute(arguments, environment).await,
        Command::Completions(arguments) => completions::execute(arguments, environment).await,
        Command::Version(arguments) => version::execute(arguments, environment).await,
    }
}

//! Prints a script that completes commands in a shell.

use clap::{Args, CommandFactory};
use clap_complete::Shell;
use rooftree_protocol::Problem;

use crate::{arguments::Invocation, environment::Environment, exit::Exit, output};

/// Options of `completions`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Which shell
    #[arg(value_enum, value_name = "SHELL")]
    shell: Shell,
}

/// Prints the script; where to put it is the shell's own matter.
pub async fn execute(arguments: Arguments, _environment: &Environment) -> Result<Exit, Problem> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Invocation::command(), "rooftree", &mut script);
    output::print(&String::from_utf8_lossy(&script))?;
    Ok(Exit::DONE)
}

//! Prints a script that completes commands in a shell.

use clap::{Args, Command};
use clap_complete::Shell;
use rooftree_protocol::Problem;

use crate::{exit::Exit, output};

/// Options of `completions`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Which shell
    #[arg(value_enum, value_name = "SHELL")]
    shell: Shell,
}

/// Prints the script for this tree of commands; where to put it is the shell's own matter.
pub fn execute(arguments: &Arguments, mut tree: Command) -> Result<Exit, Problem> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut tree, "rooftree", &mut script);
    output::print(&String::from_utf8_lossy(&script))?;
    Ok(Exit::DONE)
}

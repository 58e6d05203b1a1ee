//! Prints a script that completes commands in a shell. Those for bash, zsh and fish ask the program itself.

use clap::{Args, Command};
use clap_complete::Shell;
use rooftree_protocol::Problem;

use crate::{exit::Exit, output};

/// Calls `rooftree __complete` with the words of the line.
const BASH: &str = include_str!("completions/rooftree.bash");
const ZSH: &str = include_str!("completions/rooftree.zsh");
const FISH: &str = include_str!("completions/rooftree.fish");

/// Options of `completions`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Which shell
    #[arg(value_enum, value_name = "SHELL")]
    shell: Shell,
}

/// Prints the script. The shells that are not asked at run time get one made of the tree of commands.
pub fn execute(arguments: &Arguments, mut tree: Command) -> Result<Exit, Problem> {
    let script = match arguments.shell {
        Shell::Bash => BASH.to_owned(),
        Shell::Zsh => ZSH.to_owned(),
        Shell::Fish => FISH.to_owned(),
        shell => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut tree, "rooftree", &mut script);
            String::from_utf8_lossy(&script).into_owned()
        }
    };
    output::print(&script)?;
    Ok(Exit::DONE)
}

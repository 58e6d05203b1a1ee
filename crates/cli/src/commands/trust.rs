//! Trusts the project around the working directory: its agents, rules, skills and instructions are used.

use clap::Args;
use rooftree_protocol::{ErrorCode, Problem};
use rooftree_runtime::definitions::Trust;

use crate::{environment::Environment, exit::Exit, household, output, trust, wording::place};

/// Options of `trust`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Trust it no longer
    #[arg(long, conflicts_with = "list")]
    remove: bool,
    /// Show the folders that are trusted
    #[arg(long)]
    list: bool,
}

/// Does it.
pub async fn execute(arguments: Arguments, environment: &Environment) -> Result<Exit, Problem> {
    if arguments.list {
        let folders = trust::folders(environment);
        output::print(&folders.iter().map(|folder| format!("{}\n", folder.display())).collect::<String>())?;
        return Ok(Exit::DONE);
    }
    let places = household::places(environment);
    let root = places.root().ok_or_else(|| {
        Problem::new(ErrorCode::InvalidArguments, "your home directory needs no trust")
            .fix("choose a project with -C DIR")
    })?;
    let (trust, word) =
        if arguments.remove { (Trust::Missing, "no longer trusted") } else { (Trust::Given, "trusted") };
    trust::set(environment, root, trust)?;
    output::mention(environment, &format!("{} is {word}", place(root)));
    if trust == Trust::Given {
        for path in household::brought(&places) {
            output::mention(environment, &format!("  from now on used: {}", place(&path)));
        }
    }
    Ok(Exit::DONE)
}

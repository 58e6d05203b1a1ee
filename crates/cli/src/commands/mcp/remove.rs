//! Removes an MCP server that was added here.

use clap::Args;
use rooftree_protocol::{ErrorCode, Problem};

use super::{edit_file, gathered};
use crate::{environment::Environment, exit::Exit, human_format::place, output};

/// Options of `mcp rm`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Which server
    #[arg(value_name = "NAME")]
    pub(super) name: String,
}

/// Does it, in the file the server is written in.
pub fn execute(arguments: &Arguments, environment: &Environment) -> Result<Exit, Problem> {
    let name = &arguments.name;
    let gathered = gathered(environment)?;
    let path = &gathered.named(name)?.place;
    if path == &environment.settings {
        return Err(Problem::new(
            ErrorCode::InvalidArguments,
            format!("`{name}` is written in {}", place(path)),
        )
        .fix(format!("remove [mcp.servers.{name}] there")));
    }
    edit_file::change(path, |servers| servers.remove(name))?;
    output::print_note(
        environment,
        &format!("`{name}` is no longer in {}", place(path)),
    );
    Ok(Exit::DONE)
}

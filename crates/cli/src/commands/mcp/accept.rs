//! Accepts the current tools of an MCP server as trusted, and shows what changed.

use clap::Args;
use rooftree_protocol::Problem;

use super::{gathered, inspect::unusable};
use crate::{
    environment::Environment,
    exit::Exit,
    listing::PageOutput,
    output,
    terminal::{run_text::counted, sanitize::clean},
};

/// Options of `mcp accept`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Which server
    #[arg(value_name = "NAME")]
    pub(super) name: String,
    #[command(flatten)]
    output: PageOutput,
}

/// Does it.
pub async fn execute(arguments: &Arguments, environment: &Environment) -> Result<Exit, Problem> {
    let name = &arguments.name;
    let gathered = gathered(environment)?;
    let known = gathered.named(name)?;
    let servers = gathered.servers(environment);
    let accepted = servers.accept(name, &known.server).await;
    servers.close().await;
    let changes = accepted.map_err(|error| unusable(name, &error))?;
    if arguments.output.is_json() {
        output::print(&output::json_page(&changes)?)?;
        return Ok(Exit::DONE);
    }
    for change in &changes {
        output::print(&format!("{}\n", clean(&change.diff)))?;
    }
    let words = match changes.len() {
        0 => format!("`{name}` has the tools it had; nothing was to be accepted"),
        count => format!(
            "`{name}`: {} accepted",
            counted(count as u64, "changed tool")
        ),
    };
    output::print_note(environment, &words);
    Ok(Exit::DONE)
}

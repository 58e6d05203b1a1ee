//! Prints the version; opens nothing.

use clap::Args;
use rooftree_protocol::{Problem, event};
use serde_json::json;

use crate::{environment::Environment, exit::Exit, listing::PageOutput, output};

/// Options of `version`.
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(flatten)]
    output: PageOutput,
}

/// Prints it.
pub async fn execute(arguments: Arguments, _environment: &Environment) -> Result<Exit, Problem> {
    let version = env!("CARGO_PKG_VERSION");
    let text = if arguments.output.is_json() {
        let (system, architecture) = (std::env::consts::OS, std::env::consts::ARCH);
        output::json_line(&json!({
            "name": "rooftree",
            "version": version,
            "protocol": event::VERSION,
            "system": system,
            "architecture": architecture,
        }))?
    } else {
        format!("rooftree {version}\n")
    };
    output::print(&text)?;
    Ok(Exit::DONE)
}

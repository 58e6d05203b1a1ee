//! OAuth login to a remote MCP server: prints the page to visit, and waits for the redirect.

use std::time::Duration;

use clap::Args;
use rooftree_protocol::{ErrorCode, Problem};
use rooftree_tools::mcp::McpLogin;

use super::{gathered, inspect::unusable};
use crate::{
    environment::Environment, exit::Exit, human_format::place, mcp_servers::tokens_file, output,
};

/// Timeout for the user to log in.
const PATIENCE: Duration = Duration::from_secs(600);

/// Options of `mcp login`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Which server
    #[arg(value_name = "NAME")]
    pub(super) name: String,
}

/// Does it.
pub async fn execute(arguments: &Arguments, environment: &Environment) -> Result<Exit, Problem> {
    let name = &arguments.name;
    let gathered = gathered(environment)?;
    let known = gathered.named(name)?;
    let tokens = tokens_file(environment);
    let login = McpLogin::begin(&known.server, &tokens)
        .await
        .map_err(|error| unusable(name, &error))?;
    output::print(&format!("Visit this page to log in:\n{}\n", login.page()))?;
    match tokio::time::timeout(PATIENCE, login.finish()).await {
        Ok(done) => done.map_err(|error| unusable(name, &error))?,
        Err(_) => {
            return Err(
                Problem::new(ErrorCode::InteractionUnavailable, "no login took place")
                    .cause("the page was not visited within 10 minutes")
                    .fix(format!("rooftree mcp login {name}")),
            );
        }
    }
    output::print_note(
        environment,
        &format!(
            "you are logged in to `{name}`; it is kept in {}",
            place(&tokens)
        ),
    );
    Ok(Exit::DONE)
}

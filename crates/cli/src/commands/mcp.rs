//! Manages MCP servers: adds and removes them, tests them, lists their tools and prompts.

mod accept;
mod add;
mod edit_file;
mod inspect;
mod list;
mod login;
mod remove;

pub use inspect::unusable;

use clap::{Args, Subcommand};
use rooftree_protocol::Problem;

use crate::{
    environment::Environment,
    exit::Exit,
    mcp_servers::{self, ConfiguredServers},
    output, project_agents, settings,
};

/// Options of `mcp`.
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(subcommand)]
    action: Action,
}

/// What to do.
#[derive(Debug, Subcommand)]
enum Action {
    /// List the servers that are set up, and whether they answer
    #[command(visible_alias = "ls")]
    List(list::Arguments),
    /// Set a server up: a program, or an address
    Add(add::Arguments),
    /// Forget a server
    #[command(visible_alias = "remove")]
    Rm(remove::Arguments),
    /// Start a server and say whether it works
    Test(inspect::Arguments),
    /// List the tools of a server
    Tools(inspect::Arguments),
    /// List the prompts of a server, which run takes by their names
    Prompts(inspect::Arguments),
    /// Use the tools of a server as they are now, after looking at what changed
    Accept(accept::Arguments),
    /// Log in to a server elsewhere
    Login(login::Arguments),
}

/// Does it.
pub async fn execute(arguments: Arguments, environment: &Environment) -> Result<Exit, Problem> {
    match arguments.action {
        Action::List(arguments) => list::execute(arguments, environment).await,
        Action::Add(arguments) => {
            let work = async { add::execute(&arguments, environment) };
            let name = &arguments.name;
            environment.change_files("mcp.add", name, work).await
        }
        Action::Rm(arguments) => {
            let work = async { remove::execute(&arguments, environment) };
            let name = &arguments.name;
            environment.change_files("mcp.remove", name, work).await
        }
        Action::Test(arguments) => inspect::test(&arguments, environment).await,
        Action::Tools(arguments) => inspect::tools(&arguments, environment).await,
        Action::Prompts(arguments) => inspect::prompts(&arguments, environment).await,
        Action::Accept(arguments) => {
            let work = accept::execute(&arguments, environment);
            let name = &arguments.name;
            environment.change_files("mcp.accept", name, work).await
        }
        Action::Login(arguments) => {
            let work = login::execute(&arguments, environment);
            let name = &arguments.name;
            environment.change_files("mcp.login", name, work).await
        }
    }
}

/// All servers of this place; what people should know about them is said.
fn gathered(environment: &Environment) -> Result<ConfiguredServers, Problem> {
    let settings = settings::load(environment)?;
    let gathered = mcp_servers::gather(
        environment,
        &project_agents::places(environment),
        &settings,
        &[],
    )?;
    for remark in &gathered.remarks {
        output::print_note(environment, remark);
    }
    Ok(gathered)
}

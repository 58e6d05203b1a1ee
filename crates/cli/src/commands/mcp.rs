//! Sets up servers of tools, tries them out, and says what they offer.

mod accept;
mod add;
mod list;
mod login;
mod look;
mod remove;
mod written;

pub use look::unusable;

use clap::{Args, Subcommand};
use rooftree_protocol::Problem;

use crate::{
    environment::Environment,
    exit::Exit,
    household, output,
    servers::{self, Gathered},
    settings,
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
    Test(look::Arguments),
    /// List the tools of a server
    Tools(look::Arguments),
    /// List the prompts of a server, which run takes by their names
    Prompts(look::Arguments),
    /// Use the tools of a server as they are now, after looking at what changed
    Accept(accept::Arguments),
    /// Log in to a server elsewhere
    Login(login::Arguments),
}

/// Does it.
pub async fn execute(arguments: Arguments, environment: &Environment) -> Result<Exit, Problem> {
    match arguments.action {
        Action::List(arguments) => list::execute(arguments, environment).await,
        Action::Add(arguments) => add::execute(&arguments, environment),
        Action::Rm(arguments) => remove::execute(&arguments, environment),
        Action::Test(arguments) => look::test(&arguments, environment).await,
        Action::Tools(arguments) => look::tools(&arguments, environment).await,
        Action::Prompts(arguments) => look::prompts(&arguments, environment).await,
        Action::Accept(arguments) => accept::execute(&arguments, environment).await,
        Action::Login(arguments) => login::execute(&arguments, environment).await,
    }
}

/// All servers of this place; what people should know about them is said.
fn gathered(environment: &Environment) -> Result<Gathered, Problem> {
    let settings = settings::load(environment)?;
    let gathered = servers::gather(environment, &household::places(environment), &settings, &[])?;
    for remark in &gathered.remarks {
        output::mention(environment, remark);
    }
    Ok(gathered)
}

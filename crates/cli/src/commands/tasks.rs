//! Background tasks: delegated agents and programs, in any process. One file per action.

mod find;
mod list;
mod output;
mod send;
mod stop;
mod tail;
mod wait;

use clap::{Args, Subcommand};
use rooftree_protocol::Problem;

use crate::{environment::Environment, exit::Exit};

/// Options of `tasks`.
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(subcommand)]
    action: Action,
}

/// What to do with tasks.
#[derive(Debug, Subcommand)]
enum Action {
    /// List tasks: delegated runs and background programs
    #[command(visible_alias = "ls")]
    List(list::Arguments),
    /// Follow what an agent does or a program writes, until it ends
    Tail(tail::Arguments),
    /// Wait until tasks have ended; the exit code is the worst of theirs
    Wait(wait::Arguments),
    /// Stop a task
    #[command(visible_alias = "cancel")]
    Stop(stop::Arguments),
    /// Say something to an agent at work
    Send(send::Arguments),
}

impl Arguments {
    /// Whether a server can do it too.
    pub fn can_be_sent(&self) -> bool {
        !matches!(self.action, Action::Wait(_))
    }
}

/// Does it.
pub async fn execute(arguments: Arguments, environment: &Environment) -> Result<Exit, Problem> {
    match arguments.action {
        Action::List(arguments) => list::execute(arguments, environment).await,
        Action::Tail(arguments) => tail::execute(arguments, environment).await,
        Action::Wait(arguments) => wait::execute(arguments, environment).await,
        Action::Stop(arguments) => stop::execute(arguments, environment).await,
        Action::Send(arguments) => send::execute(arguments, environment).await,
    }
}

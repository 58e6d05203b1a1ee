//! Lists, shows, traces and cancels runs. One file per action.

mod cancel;
pub mod find;
mod list;
pub mod run_summary;
mod show;
mod trace;

use clap::{Args, Subcommand};
use rooftree_protocol::Problem;

use crate::{environment::Environment, exit::Exit};

/// Options of `runs`.
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(subcommand)]
    action: Action,
}

/// What to do with runs.
#[derive(Debug, Subcommand)]
enum Action {
    /// List runs, the latest first
    #[command(visible_alias = "ls")]
    List(list::Arguments),
    /// Say what a run did, what it cost and whom it asked
    Show(show::Arguments),
    /// Draw when a run and those below it worked, waited and failed
    Trace(trace::Arguments),
    /// Stop a run and those below it
    #[command(visible_alias = "stop")]
    Cancel(cancel::Arguments),
}

/// Does it.
pub async fn execute(arguments: Arguments, environment: &Environment) -> Result<Exit, Problem> {
    match arguments.action {
        Action::List(arguments) => list::execute(arguments, environment).await,
        Action::Show(arguments) => show::execute(arguments, environment).await,
        Action::Trace(arguments) => trace::execute(arguments, environment).await,
        Action::Cancel(arguments) => cancel::execute(arguments, environment).await,
    }
}

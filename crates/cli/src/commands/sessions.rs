//! Lists, reads, branches, moves and deletes sessions. One action, one file.

mod archive;
mod back;
mod clear;
mod events;
mod export;
mod export_file;
pub mod find;
mod fork;
mod import;
pub mod journal;
mod list;
pub mod name;
mod remove;
mod rename;
mod restore;
mod search;
mod show;
mod switch;
mod transcript;

use clap::{Args, Subcommand};
use rooftree_protocol::{ErrorCode, Problem};
use rooftree_runtime::{Handle, Queries};

use crate::{environment::Environment, exit::Exit};

/// Options of `sessions`.
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(subcommand)]
    action: Action,
}

/// What to do with sessions.
#[derive(Debug, Subcommand)]
enum Action {
    /// List sessions, the latest first
    #[command(visible_alias = "ls")]
    List(list::Arguments),
    /// Read a session as a conversation
    Show(show::Arguments),
    /// Print a session's events, and follow them
    Events(events::Arguments),
    /// Find messages and replies that contain words
    Search(search::Arguments),
    /// Branch a new session off a session's journal
    Fork(fork::Arguments),
    /// Hand a conversation over to another agent
    Switch(switch::Arguments),
    /// Go back from a conversation that was handed over, with a summary
    Back(back::Arguments),
    /// Write a session to a file or a directory
    Export(export::Arguments),
    /// Make a session out of what `export` wrote
    Import(import::Arguments),
    /// Give a session a name
    Rename(rename::Arguments),
    /// Let a session forget its context; identity and journal stay
    Clear(clear::Arguments),
    /// Delete sessions; they can be restored
    #[command(visible_alias = "delete")]
    Rm(remove::Arguments),
    /// Bring a deleted session back
    Restore(restore::Arguments),
}

/// Does it.
pub async fn execute(arguments: Arguments, environment: &Environment) -> Result<Exit, Problem> {
    match arguments.action {
        Action::List(arguments) => list::execute(arguments, environment).await,
        Action::Show(arguments) => show::execute(arguments, environment).await,
        Action::Events(arguments) => events::execute(arguments, environment).await,
        Action::Search(arguments) => search::execute(arguments, environment).await,
        Action::Fork(arguments) => fork::execute(arguments, environment).await,
        Action::Switch(arguments) => switch::execute(arguments, environment).await,
        Action::Back(arguments) => back::execute(arguments, environment).await,
        Action::Export(arguments) => export::execute(arguments, environment).await,
        Action::Import(arguments) => import::execute(arguments, environment).await,
        Action::Rename(arguments) => rename::execute(arguments, environment).await,
        Action::Clear(arguments) => clear::execute(arguments, environment).await,
        Action::Rm(arguments) => remove::execute(arguments, environment).await,
        Action::Restore(arguments) => restore::execute(arguments, environment).await,
    }
}

/// The sessions to look at one of.
fn existing(environment: &Environment) -> Result<Queries, Problem> {
    environment.queries()?.ok_or_else(none_yet)
}

/// The way to change one of the sessions there are.
fn control(environment: &Environment) -> Result<Handle, Problem> {
    if environment.database.exists() {
        environment.control()
    } else {
        Err(none_yet())
    }
}

fn none_yet() -> Problem {
    Problem::new(ErrorCode::SessionNotFound, "there are no sessions yet")
        .fix("rooftree run \"…\" opens one, rooftree demo shows how")
}

/// What the store answered, in words for people.
fn in_words(error: rooftree_store::Error) -> Problem {
    error.problem()
}

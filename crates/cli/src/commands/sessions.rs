//! Lists, reads, branches, moves and deletes sessions. One action, one file.

mod archive;
mod attributes;
mod back;
mod clear;
pub mod compact;
mod events;
mod export;
mod export_file;
mod export_source;
mod fork;
mod import;
pub mod journal;
mod list;
pub mod name;
mod pin;
mod queue;
mod remove;
mod rename;
mod restore;
mod search;
mod show;
mod switch;
mod transcript;
mod undo;

use std::{ffi::OsString, sync::Arc};

use clap::{Args, Subcommand};
use rooftree_client::RuntimeClient;
use rooftree_protocol::{Command, ErrorCode, Problem, Session, SessionId};
use rooftree_runtime::{Handle, Queries};

use self::find::LookupScope;
pub(crate) use crate::session_lookup as find;
use crate::{
    control::{changed_session, owner},
    environment::Environment,
    exit::Exit,
};

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
    /// Pin a session
    Pin(pin::Arguments),
    /// Take the pin of a session away
    Unpin(pin::Arguments),
    /// List the messages that wait for a session's agent, withdraw or replace one
    Queue(queue::Arguments),
    /// Keep attributes about a session
    Set(attributes::Arguments),
    /// Let a session forget its context; identity and journal stay
    Clear(clear::Arguments),
    /// Summarise the older part of a session's context
    Compact(compact::Arguments),
    /// Take back the file changes of the last run
    Undo(undo::Arguments),
    /// Delete sessions; they can be restored
    #[command(visible_alias = "delete")]
    Rm(remove::Arguments),
    /// Bring a deleted session back
    Restore(restore::Arguments),
}

impl Arguments {
    /// Whether a server can do it too.
    pub fn can_be_sent(&self) -> bool {
        matches!(
            self.action,
            Action::List(_)
                | Action::Show(_)
                | Action::Fork(_)
                | Action::Rename(_)
                | Action::Pin(_)
                | Action::Unpin(_)
                | Action::Set(_)
                | Action::Clear(_)
                | Action::Rm(_)
                | Action::Restore(_)
                | Action::Search(_)
                | Action::Queue(_)
                | Action::Undo(_)
                | Action::Switch(_)
                | Action::Back(_)
                | Action::Export(_)
        )
    }
}

/// What is left to do when a command about sessions is done.
pub enum SessionsOutcome {
    Done(Exit),
    /// Go on with a session, as `rooftree run -s` does.
    GoOn(ContinuedSession),
}

/// A session to go on with.
pub struct ContinuedSession {
    pub session: SessionId,
    /// What to say; nothing lets it work on what waits.
    pub words: Vec<OsString>,
    pub model: Option<String>,
}

/// Does it.
pub async fn execute(
    arguments: Arguments,
    environment: &Environment,
) -> Result<SessionsOutcome, Problem> {
    let exit = match arguments.action {
        Action::Switch(arguments) => return switch::execute(arguments, environment).await,
        Action::Back(arguments) => return back::execute(arguments, environment).await,
        Action::List(arguments) => list::execute(arguments, environment).await,
        Action::Show(arguments) => show::execute(arguments, environment).await,
        Action::Events(arguments) => events::execute(arguments, environment).await,
        Action::Search(arguments) => search::execute(arguments, environment).await,
        Action::Fork(arguments) => fork::execute(arguments, environment).await,
        Action::Export(arguments) => export::execute(arguments, environment).await,
        Action::Import(arguments) => import::execute(arguments, environment).await,
        Action::Rename(arguments) => rename::execute(arguments, environment).await,
        Action::Pin(arguments) => pin::execute(arguments, pin::PinState::Pinned, environment).await,
        Action::Unpin(arguments) => {
            pin::execute(arguments, pin::PinState::Unpinned, environment).await
        }
        Action::Queue(arguments) => queue::execute(arguments, environment).await,
        Action::Set(arguments) => attributes::execute(arguments, environment).await,
        Action::Clear(arguments) => clear::execute(arguments, environment).await,
        Action::Compact(arguments) => compact::execute(arguments, environment).await,
        Action::Undo(arguments) => undo::execute(arguments, environment).await,
        Action::Rm(arguments) => remove::execute(arguments, environment).await,
        Action::Restore(arguments) => restore::execute(arguments, environment).await,
    };
    exit.map(SessionsOutcome::Done)
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

/// The runtime to read one of the sessions of, wherever it is.
fn reader(environment: &Environment) -> Result<Arc<dyn RuntimeClient>, Problem> {
    environment.client()?.ok_or_else(none_yet)
}

/// The runtime to change one of the sessions of, wherever it is.
fn changer(environment: &Environment) -> Result<Arc<dyn RuntimeClient>, Problem> {
    environment.changing_client(owner())?.ok_or_else(none_yet)
}

/// Sends a command about the session that was typed, and gives the session as it is then.
async fn change(
    environment: &Environment,
    typed: &str,
    command: impl FnOnce(SessionId) -> Command,
) -> Result<Session, Problem> {
    let client = changer(environment)?;
    let session = find::session(&*client, typed, LookupScope::Live).await?;
    changed_session(&*client, command(session.id)).await
}

fn none_yet() -> Problem {
    Problem::new(ErrorCode::SessionNotFound, "there are no sessions yet")
        .fix("rooftree run \"…\" opens one, rooftree demo shows how")
}

/// What the store answered, in words for people.
fn in_words(error: rooftree_store::Error) -> Problem {
    error.problem()
}

//! Starts programs in their own group, bounds them, and leaves nothing behind.
//!
//! [`spawn()`], [`spawn_streamed`] and [`spawn_interactive`] are the only ways to start a program. What they start dies
//! with the [`Process`] value, with this process, or when it is told to: the whole tree, also what left its
//! process group. [`kill_group`] and [`sweep`] clean up after a crash of an earlier process.
//!
//! How relatives are found: children inherit a mark in their environment, and `/proc` shows
//! it even after they changed group, session and parent. A child that also cleared its
//! environment is found only while its parents live; a [`sandbox`] catches that one too.

mod agent_ancestry;
mod bounded_output;
mod child;
mod clone;
mod environment;
mod exit_reason;
mod fork;
mod forked_command;
mod forker_pool;
mod idle_forker;
mod inherited_fds;
mod interactive;
mod kill;
mod launch;
mod process;
mod process_limit;
mod process_tree;
pub mod sandbox;
pub mod sandbox_probe;
mod sandboxed_spawn;
mod spawn;
mod spawn_plan;
mod spawn_request;
mod spawn_thread;
mod started_child;

pub use agent_ancestry::{AgentAncestry, adopt_orphans, refuse_agent_descendant};
pub use bounded_output::BoundedOutput;
pub use environment::{ChildEnvironment, EnvironmentFilter, looks_secret};
pub use exit_reason::ExitReason;
pub use interactive::{InteractiveProcess, spawn_interactive};
pub use kill::{kill_group, kill_leftovers};
pub use process::{FinishedProcess, Process, ProcessBounds, StreamedProcess};
pub use process_tree::{ProcessIdentity, is_alive};
pub use sandbox::Sandbox;
pub use spawn::{spawn, spawn_streamed};
pub use spawn_request::{ProcessInput, SpawnRequest};

/// What can go wrong when a program is started.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The program could not be started: it is missing, or the directory is.
    #[error("start `{program}` in {directory}: {source}")]
    Start {
        /// Which program.
        program: String,
        /// Where it was to run.
        directory: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// It was to be confined, and that cannot be done here.
    #[error("confine `{program}`: {reason}")]
    Unconfined {
        /// Which program; it was not started.
        program: String,
        /// Why nothing here can confine it.
        reason: String,
    },
    /// The thread that starts programs is gone.
    #[error("start a program: the thread that starts programs is gone")]
    Gone,
}

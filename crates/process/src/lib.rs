//! Starts programs in their own group, bounds them, and leaves nothing behind.
//!
//! [`spawn()`], [`spawn_streamed`] and [`converse()`] are the only ways to start a program. What they start dies
//! with the [`Process`] value, with this process, or when it is told to: the whole tree, also what left its
//! process group. [`kill_group`] and [`sweep`] clean up after a crash of an earlier process.
//!
//! How relatives are found: children inherit a mark in their environment, and `/proc` shows
//! it even after they changed group, session and parent. A child that also cleared its
//! environment is found only while its parents live; a [`sandbox`] catches that one too.

mod child;
mod clone;
mod confined;
mod converse;
mod crowd;
mod ending;
mod environment;
mod inherited;
mod kept;
mod kill;
mod launch;
mod plan;
mod process;
mod request;
pub mod sandbox;
mod spawn;
mod spawner;
pub mod standing;
mod tree;

pub use converse::{Conversation, converse};
pub use ending::Ending;
pub use environment::{Environment, Inheritance, looks_secret};
pub use kept::Kept;
pub use kill::{kill_group, sweep};
pub use process::{Bounds, Finished, Process, Streamed};
pub use request::{Input, Spawn};
pub use sandbox::Sandbox;
pub use spawn::{spawn, spawn_streamed};
pub use tree::{Identity, is_alive};

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

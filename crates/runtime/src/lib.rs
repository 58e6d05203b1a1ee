//! Live: sessions that wake, take messages, run and rest.
//!
//! A client gets a [`Handle`] from a [`Runtime`], sends [`Command`](rooftree_protocol::Command)s
//! and reads [`Event`](rooftree_protocol::Event)s; nothing else crosses that line. The loop that
//! every agent runs is `agent/run.rs`. This crate knows no terminal, no HTTP and no vendor.
#![warn(missing_docs)]

mod agent;
mod answers;
mod bus;
mod caller;
pub mod checks;
pub mod clock;
pub mod definitions;
pub mod delegation;
pub mod doorway;
pub mod effective;
mod error;
pub mod exposure;
mod governor;
mod handle;
pub mod hooks;
mod inbox;
pub mod inquiries;
mod interrupted;
mod kit;
mod mark;
pub mod memory;
pub mod people_tools;
mod post_turn;
pub mod remember;
mod remote;
mod replies;
mod rights;
mod router;
mod runtime;
pub mod secrets;
mod signals;
pub mod skill_tools;
pub mod standing;
mod tasks;
mod unfinished;
pub mod workspace;
mod world;

pub use agent::{
    history::History,
    prompt::{Sections, peers},
    wording::user_parts as worded,
};
pub use bus::{Filter, Subscription, TreeSubscription};
pub use clock::{Clock, SystemClock};
pub use definitions::{Definitions, Lookout, Surroundings};
pub use error::Error;
pub use handle::Handle;
pub use hooks::Hooks;
pub use mark::Mark;
pub use runtime::Runtime;
pub use secrets::Secrets;
pub use tasks::settle_left_programs;
pub use unfinished::Unfinished;
pub use world::{Asking, Naming, Options};

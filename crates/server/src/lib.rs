//! Be reached: the HTTP side of Rooftree.
//!
//! It takes the callbacks of external agents and says that it lives; see
//! `docs/external-agents.md`. It knows no vendor, no SQL, and not who waits for a callback: whoever
//! starts it says what is to be done with one.
#![warn(missing_docs)]

mod auth;
mod error;
mod routes;
mod server;

pub use error::Error;
pub use routes::callbacks::{BODY_BYTES, Callback, Deliver, Receipt};
pub use server::{Options, Server};

//! Be reached: the HTTP side of Rooftree.
//!
//! It lets agents be asked as if they were models, by any client of OpenAI (`docs/serve.md`), takes the
//! callbacks of external agents (`docs/external-agents.md`) and says that it lives. It asks no model and
//! knows no SQL, nor who waits for a callback: whoever starts it says what is to be done with one.
#![warn(missing_docs)]

mod agents;
mod auth;
mod connections;
mod error;
mod exchange;
mod openai;
mod routes;
mod server;
mod telling;
mod visitors;

pub use agents::Agents;
pub use connections::ConnectionLimits;
pub use error::Error;
pub use routes::callbacks::{BODY_BYTES, Callback, Deliver, Receipt};
pub use server::{Options, Server};

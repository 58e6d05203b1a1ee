//! Be reached: the HTTP side of Rooftree.
//!
//! It lets agents be asked as if they were models, by any client of OpenAI (`docs/serve.md`), takes the
//! callbacks of external agents (`docs/external-agents.md`) and says that it lives. It asks no model and
//! knows no SQL, nor who waits for a callback: whoever starts it says what is to be done with one.
#![warn(missing_docs)]

mod agents;
mod answer_stream;
mod auth;
mod connections;
mod error;
mod exchange;
mod host_check;
mod openai;
mod routes;
mod server;

pub use agents::ExposedAgents;
pub use connections::ConnectionLimits;
pub use error::Error;
pub use routes::callbacks::{BODY_BYTES, CallbackHandler, CallbackOutcome, IncomingCallback};
pub use server::{HttpServer, HttpServerOptions};

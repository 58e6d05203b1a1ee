//! The HTTP server of Rooftree.
//!
//! It exposes agents as models to any OpenAI client (`docs/serve.md`), receives the callbacks of external
//! agents (`docs/external-agents.md`) and has a health check. It asks no model, knows no SQL, and does not
//! know who waits for a callback: the caller that starts it passes a handler.
#![warn(missing_docs)]

mod agents;
mod answer_stream;
mod api;
mod auth;
mod connections;
mod error;
mod exchange;
mod host_check;
mod openai;
mod routes;
mod server;

pub use agents::ExposedAgents;
pub use api::{ApiOptions, BoardFrame};
pub use connections::ConnectionLimits;
pub use error::Error;
pub use routes::callbacks::{BODY_BYTES, CallbackHandler, CallbackOutcome, IncomingCallback};
pub use server::{HttpServer, HttpServerOptions};

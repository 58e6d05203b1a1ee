//! The HTTP server of Rooftree.
//!
//! It exposes agents as models to any OpenAI client (`docs/serve.md`), receives the callbacks of external
//! agents (`docs/external-agents.md`) and has a health check. It asks no model, knows no SQL, and does not
//! know who waits for a callback: the caller that starts it passes a handler.
#![warn(missing_docs)]

mod access;
mod agents;
mod answer_stream;
mod api;
mod auth;
mod catalog;
mod connections;
pub mod connectors;
mod error;
mod exchange;
mod host_check;
mod local_socket;
mod openai;
mod request_body;
mod routes;
mod server;
mod ui;

pub use access::{AccessOptions, AddressRange, TrustedProxies};
pub use agents::ExposedAgents;
pub use api::{ApiOptions, ListedRoute, listed_routes, openapi};
pub use catalog::{
    CatalogDemo, CatalogHook, CatalogKeySource, CatalogLocalServer, CatalogMcpServer, CatalogModel,
    CatalogProvider, CatalogSkill, CatalogTool, EffectiveAgentReport, EmptyCatalog, ServerCatalog,
    SourcedSetting, ToolReason,
};
pub use connections::ConnectionLimits;
pub use error::Error;
pub use local_socket::{LocalSocketOptions, PeerCheck};
pub use routes::callbacks::{BODY_BYTES, CallbackHandler, CallbackOutcome, IncomingCallback};
pub use server::{HttpServer, HttpServerOptions};
pub use ui::UiSource;

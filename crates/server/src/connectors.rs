//! Connectors in the server: runs a poller for each account, lets people in by pairing, turns what arrives into messages
//! for sessions, and interprets slash commands and buttons.
//!
//! Platforms are behind the trait [`Connector`](rooftree_connectors::Connector); the runtime knows none of them. What
//! arrives is acknowledged to the platform only after it is stored.

mod ack_order;
mod address;
mod chat_settings;
mod debounce;
mod inbound;
mod inbound_files;
mod pairing;
mod poller;
mod service;
mod slash_commands;
mod supervisor;

pub use chat_settings::ChatSettings;
pub use service::{ConnectorFactory, ConnectorServiceOptions, connector_service};

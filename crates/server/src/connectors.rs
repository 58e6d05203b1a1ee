//! Joins connectors (chat platforms, webhooks) with the runtime: what they say goes in, what the outbox has goes out.
//!
//! Platforms are behind the trait [`Connector`](rooftree_connectors::Connector); the runtime knows none of them. Inbound:
//! one poller for each account, pairing, messages for sessions, slash commands and buttons; what arrives is acknowledged
//! to the platform only after it is stored.

mod ack_order;
mod address;
mod button_data;
mod buttons;
mod chat_inbox;
mod chat_settings;
mod debounce;
mod delivery;
mod inbound;
mod inbound_files;
mod inquiry_answers;
mod listed_requests;
mod moved_chats;
mod pairing;
mod platform_clients;
mod poller;
mod registry;
mod service;
mod service_options;
mod setting_names;
mod slash_commands;
mod supervisor;

pub use button_data::{ButtonChoice, ButtonPress};
pub use chat_settings::ChatSettings;
pub use delivery::delivery_service;
pub use platform_clients::{
    ConnectorSecretFn, check_platform, is_platform_known, platform_client, platform_factory,
};
pub use registry::{ConnectorRegistry, RegisteredConnector, UnknownDeliveryPolicy};
pub use service::connector_service;
pub use service_options::{
    ConnectorControl, ConnectorFactory, ConnectorRoutes, ConnectorServiceOptions,
};
pub use setting_names::check_settings;

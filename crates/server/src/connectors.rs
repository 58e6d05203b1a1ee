//! Joins connectors (chat platforms, webhooks) with the runtime: what they say goes in, what the outbox has goes out.

mod button_data;
mod delivery;
mod registry;

pub use button_data::{ButtonChoice, ButtonPress};
pub use delivery::{delivery_service, start_delivery};
pub use registry::{ConnectorRegistry, RegisteredConnector, UnknownDeliveryPolicy};

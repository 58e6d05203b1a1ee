//! Connectors: clients of chat platforms and webhooks behind one trait, [`Connector`].
//!
//! A connector receives messages, button presses and files as [`Inbound`] values and sends [`OutboundPart`]s. It knows
//! its platform's JSON, limits and formatting, and nothing of sessions: the server maps chats to sessions, stores what
//! arrives before it is acknowledged, plans the parts of an answer, and retries.

mod address_guard;
mod connector;
#[cfg(feature = "discord")]
mod discord;
mod error;
mod external;
mod http;
mod inbound;
mod multipart;
mod outbound;
mod plain_parts;
mod platform_request;
mod random_id;
mod request_queue;
mod signature;
mod telegram;
mod webhook;

pub use address_guard::PrivateAddresses;
pub use connector::{Capabilities, Connector, Health, LengthUnit, SharedConnector};
#[cfg(feature = "discord")]
pub use discord::{DiscordConnector, DiscordOptions};
pub use error::{FailureClass, SendError};
pub use external::{ExternalCapabilities, ExternalConnector, ExternalRegistration, ExternalToken};
pub use inbound::{ChatPlace, ChatSender, Inbound, InboundBody, InboundFile};
pub use outbound::{Button, Format, OutboundFile, OutboundPart, PartBody, Receipt, Reconciled};
pub use platform_request::{PlatformAnswer, PlatformRequest};
use random_id::random_id;
pub use signature::{is_signed, sign_body};
pub use telegram::{BotCommand, BotIdentity, TelegramConnector, TelegramMode, TelegramOptions};
pub use webhook::{
    SignatureStyle, WebhookConnector, WebhookInbound, WebhookOptions, WebhookOutbound,
    WebhookSecret, WebhookTemplate, WebhookTemplates,
};

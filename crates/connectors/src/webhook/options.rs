//! Options of a webhook: secrets, signature style, templates for what arrives; URL for what is sent.

use std::fmt;

use super::template::WebhookTemplate;
use crate::{FailureClass, PrivateAddresses, SendError};

/// How a webhook is connected; either direction may be missing.
#[derive(Clone, Debug, Default)]
pub struct WebhookOptions {
    /// Takes requests.
    pub inbound: Option<WebhookInbound>,
    /// Sends messages.
    pub outbound: Option<WebhookOutbound>,
}

/// How requests are taken.
#[derive(Clone, Debug)]
pub struct WebhookInbound {
    pub secret: WebhookSecret,
    pub style: SignatureStyle,
    pub templates: WebhookTemplates,
}

/// How messages are sent.
#[derive(Clone, Debug)]
pub struct WebhookOutbound {
    /// https, or this machine.
    pub url: String,
    /// Signs what is sent.
    pub secret: WebhookSecret,
    pub private: PrivateAddresses,
    /// Whether the receiver takes a delivery id (`X-Rooftree-Delivery`) only once, so that sending again is safe.
    pub is_deduplicating: bool,
}

/// Which signature requests have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SignatureStyle {
    /// `X-Rooftree-Signature: t=1700000000,v1=…`, the HMAC-SHA256 of `timestamp.body`; refused after five minutes.
    #[default]
    Timestamped,
    /// `X-Hub-Signature-256: sha256=…`, the HMAC-SHA256 of the body, as GitHub sends it. It has no time, so the same body
    /// counts once for ever.
    BodyOnly,
}

/// What a request becomes. Fields of the body stand as `{{path.to.field}}`.
#[derive(Clone, Debug)]
pub struct WebhookTemplates {
    /// What is said.
    pub text: WebhookTemplate,
    /// The agent that is asked; none leaves it to the server.
    pub agent: Option<WebhookTemplate>,
    /// The session, as the name of a chat; none puts all requests into one.
    pub session: Option<WebhookTemplate>,
    /// Who says it.
    pub sender: Option<WebhookTemplate>,
    /// What identifies a delivery, if the body says it; none takes the signed content.
    pub key: Option<WebhookTemplate>,
}

impl WebhookTemplates {
    /// The field `text` is what is said.
    pub fn of_text() -> Result<Self, SendError> {
        Ok(Self {
            text: WebhookTemplate::parse("{{text}}")?,
            agent: None,
            session: None,
            sender: None,
            key: None,
        })
    }
}

/// A shared secret; never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct WebhookSecret(String);

impl WebhookSecret {
    /// Refuses what could be guessed.
    pub fn new(secret: &str) -> Result<Self, SendError> {
        if secret.len() < 16 {
            let words = "the secret of a webhook must have at least 16 characters";
            return Err(SendError::new(FailureClass::InvalidPayload, words));
        }
        Ok(Self(secret.to_owned()))
    }

    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for WebhookSecret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("WebhookSecret(redacted)")
    }
}

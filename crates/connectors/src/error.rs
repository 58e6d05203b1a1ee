//! Why a platform did not take a message, classed by what the caller can do about it (retry, wait, give up).

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Why a request to a platform failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct SendError {
    /// What the caller can do.
    pub class: FailureClass,
    /// The cause in words, without secrets and without raw bodies.
    pub message: String,
    /// How long the platform wants to be left alone.
    pub retry_after: Option<Duration>,
    /// The chat goes on under this id.
    pub moved_to: Option<String>,
}

impl SendError {
    /// A failure of this class.
    pub fn new(class: FailureClass, message: impl Into<String>) -> Self {
        Self {
            class,
            message: message.into(),
            retry_after: None,
            moved_to: None,
        }
    }
}

/// What can be done about a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureClass {
    /// The platform was not reached or is ill: retry with backoff. Nothing was sent.
    Transient,
    /// Too many requests: wait for `retry_after`; this is no attempt.
    RateLimit,
    /// Credentials were refused.
    Auth,
    /// The account may not write there, or was blocked.
    Permission,
    /// The chat or message is gone.
    NotFound,
    /// The platform does not take this content; plain text may do.
    InvalidPayload,
    /// Another poller has the account.
    Conflict,
    /// The request went out and no answer came: it may have arrived.
    Unknown,
}

impl FailureClass {
    /// Whether the same request may succeed later and surely was not carried out.
    pub fn is_retryable(self) -> bool {
        matches!(self, Self::Transient | Self::RateLimit)
    }
}

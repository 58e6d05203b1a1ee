//! Messages to chats as clients read them, and how far their delivery is.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{RunId, SessionId, Timestamp};

/// How far the delivery of a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OutboxState {
    /// It waits for its turn.
    Planned,
    /// A part of it is being sent, or the next one is about to be.
    Sending,
    /// The platform took all of it.
    Sent,
    /// An attempt failed; another one follows.
    Failed,
    /// A part may or may not have arrived, and it is not sent again by itself.
    Unknown,
    /// It was given up.
    Dead,
    /// A later message took its place, or a person dropped it.
    Superseded,
}

impl OutboxState {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Planned,
        Self::Sending,
        Self::Sent,
        Self::Failed,
        Self::Unknown,
        Self::Dead,
        Self::Superseded,
    ];

    /// Those of messages that did not arrive, as far as is known.
    pub const UNDELIVERED: [Self; 5] = [
        Self::Planned,
        Self::Sending,
        Self::Failed,
        Self::Unknown,
        Self::Dead,
    ];

    /// The same word as in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Planned => "planned",
            Self::Sending => "sending",
            Self::Sent => "sent",
            Self::Failed => "failed",
            Self::Unknown => "unknown",
            Self::Dead => "dead",
            Self::Superseded => "superseded",
        }
    }

    /// Whether a worker still has something to do with it.
    pub fn is_open(self) -> bool {
        matches!(self, Self::Planned | Self::Sending | Self::Failed)
    }
}

/// A message to a chat.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OutboxInfo {
    /// Its id.
    pub id: String,
    /// How far its delivery is.
    pub state: OutboxState,
    /// `final`, `progress`, `permission`, `notice` or `file`.
    pub kind: String,
    /// Where it goes: `telegram:123/45`.
    pub target: String,
    /// What it says; of a file, its name. The stream tells only the beginning of a long one.
    pub text: String,
    /// The session it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// The run it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// How many attempts failed.
    pub attempts: u32,
    /// When the next attempt may begin; only after a failed one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_attempt: Option<Timestamp>,
    /// The class of the last failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// The last failure in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Into how many messages of the platform it is split; 0 before it is planned.
    pub parts: usize,
    /// How many of them the platform took.
    pub parts_sent: usize,
    /// When it was made.
    pub created: Timestamp,
    /// When it was sent, given up or superseded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed: Option<Timestamp>,
}

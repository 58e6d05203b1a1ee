//! Connectors as clients read them: health, paired people, pairing codes that wait, undelivered messages.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::Timestamp;

/// A connector.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ConnectorInfo {
    /// Its name.
    pub id: String,
    /// `telegram`, `discord`, `webhook` or `external`.
    pub platform: String,
    /// The agent whose sessions its chats are.
    pub agent: String,
    /// Whether it is started.
    pub enabled: bool,
    /// What else is set; never a secret.
    pub settings: Map<String, Value>,
    /// How it is.
    pub health: HealthInfo,
    /// The last failure, which stays when it works again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
    /// Who is paired.
    pub people: Vec<PairedSender>,
    /// Codes that wait: for the sender who was told it, or for any sender.
    pub pending_pairing: Vec<PendingPairing>,
    /// Messages that are not delivered.
    pub outbox: UndeliveredCounts,
    /// How often it was changed.
    pub rev: u64,
}

/// How a connector is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HealthInfo {
    /// `off`, `connecting`, `up`, `degraded` or `stopped`.
    pub state: String,
    /// Why it does not work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Since when.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
}

/// A sender who is paired.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PairedSender {
    /// The platform's own id.
    pub sender: String,
    /// What the platform showed when he was paired.
    pub name: String,
    /// The person he is.
    pub person: String,
    /// Whether he may talk to agents.
    pub may_send: bool,
    /// Whether he may answer permission requests.
    pub may_approve: bool,
    /// Since when.
    pub paired_at: Timestamp,
}

/// A code that waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PendingPairing {
    /// Who was told it; none if it is for any sender.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sender: Option<String>,
    /// What the platform shows of him.
    pub name: String,
    /// When it ends by itself.
    pub expires: Timestamp,
}

/// Messages that are not delivered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UndeliveredCounts {
    /// Those that wait for their turn.
    pub queued: u64,
    /// Those of which an attempt failed and another one follows.
    pub failed: u64,
    /// Those that were given up, or may or may not have arrived.
    pub dead: u64,
}

//! Rows of connectors: accounts of chat platforms, who their senders are, pairing codes, and which session a chat talks to.

use rooftree_protocol::{Principal, SessionId, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{AuditEntry, TokenHash};

/// A connector as it is stored.
#[derive(Clone, Debug, PartialEq)]
pub struct ConnectorRow {
    /// Whose it is.
    pub tenant: String,
    /// Its name, in lower case.
    pub name: String,
    /// What it is set to.
    pub fields: ConnectorFields,
    /// How often it was changed.
    pub revision: u64,
    /// Who changed it last.
    pub by: Principal,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was changed last.
    pub updated_at: Timestamp,
    /// What its poller said last.
    pub health: Option<ConnectorHealth>,
    /// Where receiving goes on, for platforms that do not keep it.
    pub cursor: Option<String>,
}

/// What people set of a connector. It holds no secrets: those are in the credential store.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConnectorFields {
    /// `telegram`, `discord`, `webhook`, `external`.
    pub platform: String,
    /// The agent whose sessions its chats are.
    pub agent: String,
    /// What else is set.
    pub settings: Map<String, Value>,
    /// Whether it is started.
    pub enabled: bool,
}

/// How a connector was when its poller looked last.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectorHealth {
    /// `off`, `connecting`, `up`, `degraded`, `stopped`.
    pub state: String,
    /// Why it does not work, without secrets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The last failure, which stays when it works again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
    /// When.
    pub at: Timestamp,
}

/// A change of a connector.
#[derive(Clone, Debug)]
pub struct ConnectorWrite {
    /// Whose.
    pub tenant: String,
    /// Its name, in lower case.
    pub name: String,
    /// What it is set to from now on; none to remove it with its identities, codes and bindings.
    pub fields: Option<ConnectorFields>,
    /// The revision it must have; none if there must be no such connector.
    pub expected: Option<u64>,
    /// Who changes it.
    pub by: Principal,
    /// Now.
    pub at: Timestamp,
    /// The entry of the audit log that is written with it.
    pub audit: Option<AuditEntry>,
}

/// What came of changing a connector.
#[derive(Clone, Debug, PartialEq)]
pub enum ConnectorWriteOutcome {
    /// As it is now; none if it was removed.
    Written(Option<Box<ConnectorRow>>),
    /// It has another revision: as it is; none if there is none.
    Differs(Option<Box<ConnectorRow>>),
}

/// A sender of a connector and the person he is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ChatIdentity {
    /// Whose.
    #[serde(skip)]
    pub tenant: String,
    /// The connector.
    #[serde(skip)]
    pub connector: String,
    /// The platform's own id of the sender.
    pub sender: String,
    /// What the platform showed when he was paired. It is chosen freely, so it decides nothing.
    pub name: String,
    /// The person.
    pub person: String,
    /// Whether he may talk to agents.
    pub may_send: bool,
    /// Whether he may answer permission requests.
    pub may_approve: bool,
    /// Since when.
    pub paired_at: Timestamp,
}

/// A pairing code that is not used yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PairingRow {
    /// Whose.
    pub tenant: String,
    /// The connector.
    pub connector: String,
    /// SHA-256 of the connector and the code.
    pub digest: TokenHash,
    /// Who was given the code; none if it is for any sender, who becomes the person.
    pub sender: Option<String>,
    /// What the platform shows of him.
    pub name: String,
    /// The person; none if the owner names him when he confirms the code.
    pub person: Option<String>,
    /// Whether he may answer permission requests.
    pub may_approve: bool,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it ends by itself.
    pub expires_at: Timestamp,
    /// How many wrong codes were sent to the connector meanwhile.
    pub tries: u64,
}

/// Bounds of pairing.
#[derive(Clone, Copy, Debug)]
pub struct PairingBounds {
    /// Codes of a connector that may wait at once.
    pub pending: usize,
    /// Wrong codes after which a code is deleted.
    pub tries: u64,
}

/// What came of keeping a pairing code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PairingOffer {
    /// It is kept.
    Kept,
    /// This sender has one that is not over.
    Waiting,
    /// As many wait as may.
    Full,
}

/// A code that a sender sent, or that the owner confirms.
#[derive(Clone, Debug)]
pub struct PairingUse {
    /// SHA-256 of the connector and the code.
    pub digest: TokenHash,
    /// Whom the code was given to; none if it is one for any sender.
    pub given_to: Option<String>,
    /// Who the sender becomes.
    pub identity: ChatIdentity,
    /// The entry of the audit log that is written with it.
    pub audit: Option<AuditEntry>,
}

/// The session a chat talks to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChatBinding {
    /// Now.
    pub session: SessionId,
    /// Before.
    pub previous: Option<SessionId>,
}

/// A change of the session that a chat talks to.
#[derive(Clone, Debug)]
pub struct ChatBindingWrite {
    /// Whose.
    pub tenant: String,
    /// The connector.
    pub connector: String,
    /// The key of the chat.
    pub key: String,
    /// The session it talks to from now on.
    pub session: SessionId,
    /// The session it talked to until now.
    pub previous: Option<SessionId>,
    /// What arrived and wants this: once it is known, nothing is changed again.
    pub inbound: InboundKey,
    /// Now.
    pub at: Timestamp,
    /// The entry of the audit log that is written with it.
    pub audit: Option<AuditEntry>,
}

/// The key of something that arrived from a platform and was taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InboundKey {
    /// Whose.
    pub tenant: String,
    /// The connector.
    pub connector: String,
    /// The key, unique in the connector.
    pub key: String,
    /// Until when it is kept.
    pub expires_at: Timestamp,
}

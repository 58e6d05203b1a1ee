//! Outbox records: messages to chats that are stored in the commit that caused them and delivered afterwards.

use rooftree_protocol::{Account, BlobId, ChatTarget, RunId, SessionId, Timestamp};
use serde::{Deserialize, Serialize};

/// A message to a chat, to be stored. Its delivery is planned and attempted later.
#[derive(Clone, Debug, PartialEq)]
pub struct OutboxPost {
    /// Its id, made by the caller.
    pub id: String,
    /// Idempotency key: the same key again stores nothing.
    pub key: String,
    /// The tenant and person it belongs to.
    pub account: Account,
    /// The session it is about.
    pub session: Option<SessionId>,
    /// The run it is about.
    pub run: Option<RunId>,
    /// What kind of message it is.
    pub kind: OutboxKind,
    /// Where it is delivered.
    pub target: ChatTarget,
    /// What it says.
    pub body: OutboxBody,
    /// When it was made.
    pub at: Timestamp,
}

/// Kinds of messages to chats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutboxKind {
    /// The answer of a run.
    Final,
    /// A status line of a run at work; a later one or the answer supersedes it.
    Progress,
    /// A permission request or question, and its outcome.
    Permission,
    /// A notice about a failure or a change.
    Notice,
    /// A file that an agent sends.
    File,
}

/// What a message to a chat says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum OutboxBody {
    /// Markdown.
    Text {
        /// The text.
        text: String,
    },
    /// Something a person must answer, with buttons where the platform has them.
    Inquiry {
        /// The id of the permission request or question.
        inquiry: String,
        /// What is asked, as Markdown.
        text: String,
    },
    /// How an inquiry ended: the message that asked is changed to this.
    Outcome {
        /// The id of the permission request or question.
        inquiry: String,
        /// What is told instead, as Markdown.
        text: String,
    },
    /// A stored file.
    File {
        /// Where its bytes are.
        blob: BlobId,
        /// Its name.
        name: String,
        /// Its media type.
        media_type: String,
        /// What is said with it.
        caption: String,
    },
}

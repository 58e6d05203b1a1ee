//! Outbox records: messages to chats that are stored in the commit that caused them and delivered afterwards.

pub use rooftree_protocol::OutboxState;
use rooftree_protocol::{Account, BlobId, ChatTarget, OutboxInfo, RunId, SessionId, Timestamp};
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

impl OutboxPost {
    /// The key of a run's answer.
    pub fn final_key(run: &RunId) -> String {
        format!("final:{run}")
    }

    /// The key of a run's status line.
    pub fn progress_key(run: &RunId) -> String {
        format!("progress:{run}")
    }

    /// The key of the message that asks an inquiry.
    pub fn ask_key(inquiry: &str) -> String {
        format!("ask:{inquiry}")
    }

    /// The key of the message that tells how an inquiry ended.
    pub fn outcome_key(inquiry: &str) -> String {
        format!("outcome:{inquiry}")
    }
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

impl OutboxKind {
    /// The same word as in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Final => "final",
            Self::Progress => "progress",
            Self::Permission => "permission",
            Self::Notice => "notice",
            Self::File => "file",
        }
    }
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

/// A message to a chat as it is stored.
#[derive(Clone, Debug, PartialEq)]
pub struct OutboxRow {
    /// Its number; later messages have higher ones.
    pub number: i64,
    /// What was posted.
    pub post: OutboxPost,
    /// Its place among the messages to the same chat and thread.
    pub ordinal: u64,
    /// How far its delivery is.
    pub state: OutboxState,
    /// How many attempts failed since a part was last taken.
    pub attempts: u32,
    /// When the next attempt may begin.
    pub not_before: Timestamp,
    /// The class of the last failure.
    pub class: Option<String>,
    /// The last failure in words.
    pub error: Option<String>,
    /// Since when it is to be delivered: when it was made, or when a person had it retried.
    pub due_since: Timestamp,
    /// When it was sent, given up or superseded.
    pub closed_at: Option<Timestamp>,
    /// What it was split into; nothing before it is planned.
    pub parts: Vec<OutboxPart>,
}

impl OutboxRow {
    /// The class of messages that were open in a backup that was restored.
    pub const RESTORED: &str = "restored";

    /// Whether it may have been delivered before it was planned, by a process that used the database after the backup.
    pub fn is_restored(&self) -> bool {
        self.class.as_deref() == Some(Self::RESTORED)
    }

    /// The message as clients read it.
    pub fn info(self) -> OutboxInfo {
        let is_sent = |part: &&OutboxPart| part.state == OutboxState::Sent;
        let text = match self.post.body {
            OutboxBody::Text { text }
            | OutboxBody::Inquiry { text, .. }
            | OutboxBody::Outcome { text, .. } => text,
            OutboxBody::File { name, .. } => name,
        };
        OutboxInfo {
            id: self.post.id,
            state: self.state,
            kind: self.post.kind.name().to_owned(),
            target: self.post.target.to_string(),
            text,
            session: self.post.session,
            run: self.post.run,
            attempts: self.attempts,
            next_attempt: (self.state == OutboxState::Failed).then_some(self.not_before),
            class: self.class,
            error: self.error,
            parts: self.parts.len(),
            parts_sent: self.parts.iter().filter(is_sent).count(),
            created: self.post.at,
            closed: self.closed_at,
        }
    }
}

/// One platform message of an outbox message.
#[derive(Clone, Debug, PartialEq)]
pub struct OutboxPart {
    /// Its place, from 0.
    pub n: u32,
    /// What is sent, as the JSON that the connector reads.
    pub body: String,
    /// How far it is: planned, sending, sent, failed or unknown.
    pub state: OutboxState,
    /// The platform's id of the message.
    pub platform_id: Option<String>,
    /// When the platform took it.
    pub sent_at: Option<Timestamp>,
}

/// The messages of a connector that are next.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OutboxHeads {
    /// Of each chat the first message that is not closed, where it may be attempted now.
    pub due: Vec<OutboxRow>,
    /// When the next of the others may be attempted.
    pub next: Option<Timestamp>,
}

/// That the platform took a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartReceipt {
    /// Which message.
    pub id: String,
    /// Which part of it.
    pub part: u32,
    /// The platform's id of the message.
    pub platform_id: String,
    /// When it was taken.
    pub at: Timestamp,
}

/// What a failed attempt leads to.
#[derive(Clone, Debug, PartialEq)]
pub struct OutboxFailure {
    /// Which message.
    pub id: String,
    /// Which part of it.
    pub part: u32,
    /// What becomes of the message: failed, unknown or dead.
    pub state: OutboxState,
    /// Whether the part may have arrived.
    pub is_unknown: bool,
    /// Whether this counts as an attempt.
    pub counts: bool,
    /// When the next attempt may begin.
    pub not_before: Timestamp,
    /// The class of the failure.
    pub class: String,
    /// The failure in words, without raw bodies.
    pub error: String,
    /// When it happened.
    pub at: Timestamp,
}

/// What a person wants done with a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutboxWish {
    /// Deliver it now. A part that may have arrived is sent with a label.
    Retry,
    /// Do not deliver it.
    Drop,
}

/// Which messages to list, the newest first.
#[derive(Clone, Debug, Default)]
pub struct OutboxFilter {
    /// Of which tenant.
    pub tenant: String,
    /// Only those of this person.
    pub person: Option<String>,
    /// Only those to this connector.
    pub connector: Option<String>,
    /// Only those in one of these states.
    pub states: Option<Vec<OutboxState>>,
    /// Only those with a lower number: the next page.
    pub before: Option<i64>,
    /// At most this many.
    pub limit: usize,
}

/// How many messages to a connector are not delivered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct OutboxCounts {
    /// The connector.
    pub connector: String,
    /// Those that wait for their turn or are being sent.
    pub queued: u64,
    /// Those of which an attempt failed and another one follows.
    pub failed: u64,
    /// Those that were given up, or may or may not have arrived.
    pub dead: u64,
}

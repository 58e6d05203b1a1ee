//! Inbound values of a platform: messages, button presses, files, and who sent them where.

use serde::{Deserialize, Serialize};

/// One thing that arrived.
#[derive(Clone, Debug, PartialEq)]
pub struct Inbound {
    /// Its key: unique in this account, the same when it arrives again.
    pub key: String,
    /// Where it was said.
    pub place: ChatPlace,
    /// Who said it.
    pub from: ChatSender,
    /// What it is.
    pub body: InboundBody,
    /// When the platform got it, in milliseconds since 1970.
    pub at_ms: i64,
    /// The agent it asks for, where the settings of the connector take one from it (webhooks).
    pub agent: Option<String>,
}

/// What arrived.
#[derive(Clone, Debug, PartialEq)]
pub enum InboundBody {
    /// A message.
    Message {
        /// Its text, as Markdown where the platform has formatting.
        text: String,
        /// Files and pictures in it.
        files: Vec<InboundFile>,
        /// The platform's id of the message.
        message: String,
        /// The platform's id of the message it replies to.
        reply_to: Option<String>,
        /// Whether the account is addressed: a direct chat, its name in the text, or a reply to it.
        addressed: bool,
    },
    /// A pressed button.
    Button {
        /// The data of the button.
        data: String,
        /// The id of the press, for `answer_button`.
        press: String,
        /// The message that has the button.
        message: String,
    },
    /// The chat of `place` goes on under another id; what was kept for it belongs to the new one.
    Moved {
        /// The new id.
        chat: String,
    },
}

/// Where something is said.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ChatPlace {
    /// The chat or channel.
    pub chat: String,
    /// The thread or topic in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<String>,
    /// The message replied to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<String>,
    /// Whether it is a chat of several people.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub group: bool,
}

/// Who sent something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChatSender {
    /// The platform's own id: the only identity that counts.
    pub id: String,
    /// What the platform shows; it is chosen freely, so it decides nothing.
    pub name: String,
}

/// A file that arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InboundFile {
    /// What the platform calls it.
    pub id: String,
    /// Its name, without folders.
    pub name: String,
    /// Its media type, as the platform says.
    pub media_type: Option<String>,
    /// Its size, as the platform says.
    pub size: Option<u64>,
}

//! Outbound values for a platform: parts of an answer with formatting, buttons and files, and receipts.

use serde::{Deserialize, Serialize};

/// One message of the platform. It is stored before it is sent and never split anew, so it is plain data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OutboundPart {
    /// What it holds.
    pub body: PartBody,
    /// Rows of buttons below it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub buttons: Vec<Vec<Button>>,
    /// Whether it arrives without a sound.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub silent: bool,
}

/// What a part holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum PartBody {
    /// Text with formatting that the platform's connector made.
    Text {
        /// The visible text.
        text: String,
        /// Formatting of ranges of it; only the connector that made it reads it.
        #[serde(default, skip_serializing_if = "Format::is_empty")]
        format: Format,
    },
    /// A file with a caption.
    File(OutboundFile),
}

/// Formatting of a text, in the platform's own form.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Format(pub Vec<serde_json::Value>);

impl Format {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// A file to send.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OutboundFile {
    /// Its name, without folders.
    pub name: String,
    /// Its media type.
    pub media_type: String,
    /// What is said with it, as Markdown; its visible text is at most `Capabilities::caption_length` long.
    pub caption: String,
    /// Its bytes; the caller loads them for the time of sending, they are not stored with the part.
    #[serde(skip)]
    pub bytes: Vec<u8>,
    /// The stored blob that holds the bytes.
    pub blob: String,
}

/// A button.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Button {
    /// What it says.
    pub label: String,
    /// What comes back when it is pressed.
    pub data: String,
}

/// That the platform took a part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// The platform's id of the message.
    pub message: String,
}

/// What is known of a part whose sending was interrupted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reconciled {
    /// It arrived.
    Sent(Receipt),
    /// It did not.
    NotSent,
    /// The platform does not tell.
    Unresolved,
}

impl OutboundPart {
    /// Plain text without buttons.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            body: PartBody::Text {
                text: text.into(),
                format: Format::default(),
            },
            buttons: Vec::new(),
            silent: false,
        }
    }
}

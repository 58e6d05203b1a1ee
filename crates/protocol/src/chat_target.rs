//! Chat targets: the connector, chat and thread that a reply is delivered to, written `telegram:123/45`.

use std::{fmt, str::FromStr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ErrorCode, Problem};

/// Where a reply is delivered. Identity is the whole of it: two targets that differ in the thread differ.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct ChatTarget {
    /// The name of the connector.
    pub connector: String,
    /// The platform's id of the chat or channel.
    pub chat: String,
    /// The platform's id of the thread or topic in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<String>,
    /// The platform's id of the message that is replied to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<String>,
    /// Whether several people are in the chat.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub group: bool,
}

impl ChatTarget {
    /// The same chat and thread, as a message of its own.
    #[must_use]
    pub fn without_reply(&self) -> Self {
        Self {
            reply_to: None,
            ..self.clone()
        }
    }
}

impl fmt::Display for ChatTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.connector, self.chat)?;
        match &self.thread {
            Some(thread) => write!(f, "/{thread}"),
            None => Ok(()),
        }
    }
}

impl FromStr for ChatTarget {
    type Err = Problem;

    fn from_str(text: &str) -> Result<Self, Problem> {
        let parsed = text.split_once(':').and_then(|(connector, place)| {
            let (chat, thread) = match place.split_once('/') {
                Some((chat, thread)) => (chat, Some(thread)),
                None => (place, None),
            };
            let is_empty = connector.is_empty() || chat.is_empty() || thread == Some("");
            (!is_empty).then(|| Self {
                connector: connector.to_owned(),
                chat: chat.to_owned(),
                thread: thread.map(str::to_owned),
                reply_to: None,
                group: false,
            })
        });
        parsed.ok_or_else(|| {
            Problem::new(
                ErrorCode::InvalidArguments,
                format!("`{text}` is not a chat target"),
            )
            .fix("write CONNECTOR:CHAT or CONNECTOR:CHAT/THREAD, such as telegram:123456")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_read_as_it_is_written() {
        for text in ["telegram:123", "telegram:-100123/45", "work:C01/1700.5"] {
            assert_eq!(text.parse::<ChatTarget>().unwrap().to_string(), text);
        }
        for text in ["", "telegram", "telegram:", ":123", "telegram:1/"] {
            assert!(text.parse::<ChatTarget>().is_err(), "{text}");
        }
    }
}

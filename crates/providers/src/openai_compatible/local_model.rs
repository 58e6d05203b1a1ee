//! A model of a local server: context window and capabilities, as far as the server tells them.

use crate::catalog::ModelInfo;

/// A model of a local server. Absent values are unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LocalModel {
    /// The server's name of it.
    pub name: String,
    /// Context window in tokens, as it is loaded.
    pub window: Option<u64>,
    /// Whether it supports tool calls.
    pub tools: Option<bool>,
    /// Whether it accepts images.
    pub images: Option<bool>,
    /// Whether it answers chats; embedding models do not.
    pub chats: Option<bool>,
}

impl LocalModel {
    /// A model of which only the name is known.
    pub fn named(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            ..Self::default()
        }
    }

    /// It as an entry of the table of models.
    pub fn info(&self, vendor: &str) -> ModelInfo {
        ModelInfo {
            window: self.window,
            tools: self.tools.unwrap_or(true),
            images: self.images.unwrap_or(false),
            ..ModelInfo::unknown(format!("{vendor}/{}", self.name))
        }
    }

    /// Values of this, with those of the other where they are unknown.
    pub(super) fn or(self, other: Self) -> Self {
        Self {
            name: self.name,
            window: self.window.or(other.window),
            tools: self.tools.or(other.tools),
            images: self.images.or(other.images),
            chats: self.chats.or(other.chats),
        }
    }
}

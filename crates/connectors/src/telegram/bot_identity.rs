//! The bot's own identity, as `getMe` tells it, and the reading of string fields.

use serde_json::Value;

/// Who the bot is, as `getMe` says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BotIdentity {
    pub id: i64,
    /// Without `@`.
    pub username: String,
}

impl BotIdentity {
    pub(super) fn of(answer: &Value) -> Option<Self> {
        Some(Self {
            id: answer.get("id")?.as_i64()?,
            username: text(answer, "username").unwrap_or_default().to_owned(),
        })
    }
}

/// A string field of an object.
pub(super) fn text<'value>(value: &'value Value, name: &str) -> Option<&'value str> {
    value.get(name)?.as_str()
}

//! Notices for the user about something unexpected.

use serde::Serialize;

/// A notice for the user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Notice {
    /// A short name for it: `mcp_failed`, `mcp_changed`, `exposure`.
    pub code: &'static str,
    /// The message.
    pub message: String,
    /// What the user can do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

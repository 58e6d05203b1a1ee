//! Notices for the user about something unexpected.

use serde::Serialize;

/// What people should know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Notice {
    /// A short name for it: `mcp_failed`, `mcp_changed`, `exposure`.
    pub code: &'static str,
    /// What it is.
    pub message: String,
    /// What can be done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

//! Texts of the notices about servers, with hints for the user.

use super::{Error, ToolChange, sanitize::sanitize_text};
use crate::notice::Notice;

impl Notice {
    /// A server that cannot be used.
    pub(super) fn failed(server: &str, error: &Error) -> Self {
        let hint = match error {
            Error::Unauthorized => format!("rooftree mcp login {server}"),
            _ => format!("rooftree mcp test {server}"),
        };
        let message = format!("MCP server `{server}` cannot be used: {error}");
        Self {
            code: "mcp_failed",
            message,
            hint: Some(hint),
        }
    }

    /// Programs that are to be confined and cannot be here.
    pub(super) fn unconfined(reason: &str) -> Self {
        let message = format!("MCP servers are not confined here: {reason}");
        let hint = "install bubblewrap (bwrap), see rooftree doctor; sandbox.mode = \"required\" refuses them";
        Self {
            code: "mcp_unconfined",
            message,
            hint: Some(hint.to_owned()),
        }
    }

    /// A program that may reach some hosts only and, unconfined, reaches all.
    pub(super) fn unlimited(server: &str) -> Self {
        let message = format!(
            "MCP server `{server}` has full network access: its `network` holds only where it is confined"
        );
        let hint = "remove \"sandbox\": \"off\", or its \"network\"";
        Self {
            code: "mcp_unconfined",
            message,
            hint: Some(hint.to_owned()),
        }
    }

    /// A program that may reach some hosts and, where these cannot be told apart, reaches none.
    pub(super) fn reaches_nobody(server: &str, reason: &str) -> Self {
        let message = format!("MCP server `{server}` has no network here: {reason}");
        let hint = "install bubblewrap (bwrap), see rooftree doctor";
        Self {
            code: "mcp_unconfined",
            message,
            hint: Some(hint.to_owned()),
        }
    }

    /// A question of a server that belongs to no known call.
    pub(super) fn unasked(server: &str) -> Self {
        let message = format!(
            "MCP server `{server}` wanted to ask something, and it cannot be told for which of its calls: declined"
        );
        Self {
            code: "mcp_unasked",
            message,
            hint: None,
        }
    }

    pub(super) fn left_out(server: &str, what: &str) -> Self {
        Self {
            code: "mcp_left_out",
            message: format!("MCP server `{server}`: {what}"),
            hint: None,
        }
    }

    pub(super) fn changed(server: &str, change: &ToolChange) -> Self {
        let tool = sanitize_text(&change.tool, 100);
        let what = match &change.renamed_from {
            Some(old) => format!("`{tool}` was `{}` before", sanitize_text(old, 100)),
            None => format!("`{tool}` is not what it was"),
        };
        let message = format!(
            "MCP server `{server}`: its tool {what}, and is not used:\n{}",
            change.diff
        );
        Self {
            code: "mcp_changed",
            message,
            hint: Some(format!("rooftree mcp accept {server}")),
        }
    }
}

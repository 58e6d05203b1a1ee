//! A tool of an MCP server as an agent sees it: a `Tool` whose calls are sent to the server.

use std::{sync::Arc, time::Duration};

use futures::future::BoxFuture;
use rmcp::model::{CallToolRequestParams, ToolAnnotations};
use rooftree_protocol::{Effect, ErrorCode, ToolSpec};
use serde_json::Value;

use super::{Error, argument_check, result_content, server_entry::McpServerEntry};
use crate::{Tool, ToolContext, ToolInfo, ToolOutput};

/// Characters of a title that tell what a call is about.
const TITLE: usize = 60;

/// One tool of one server.
pub(super) struct RemoteTool {
    pub(super) spec: ToolSpec,
    /// The server's name, as the agent knows it.
    pub(super) server: String,
    /// What the server calls it.
    pub(super) name: String,
    /// Its result is untrusted text: the kind says that an agent that reads it becomes wary (tainted).
    pub(super) info: ToolInfo,
    /// How long a call may take.
    pub(super) limit: Duration,
    pub(super) slot: Arc<McpServerEntry>,
}

/// What a call does to the world, as far as the server can be believed.
///
/// Invariant: what a server says makes a call more suspicious, never less, unless the person who set
/// it up believes it.
pub(super) fn effect(claims: Option<&ToolAnnotations>, is_believed: bool) -> Effect {
    let says = |claim: fn(&ToolAnnotations) -> Option<bool>| claims.and_then(claim) == Some(true);
    if is_believed && says(|claims| claims.read_only_hint) {
        Effect::ReadOnly
    } else {
        // A server may reach anything, so that even what destroys is asked about as what acts elsewhere.
        Effect::RemoteAction
    }
}

impl Tool for RemoteTool {
    fn info(&self) -> &ToolInfo {
        &self.info
    }

    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn normalise(&self, _called_as: &str, input: Value) -> Result<Value, String> {
        argument_check::checked(&self.spec.input_schema, input)
    }

    fn title(&self, input: &Value) -> String {
        let told = input
            .as_object()
            .and_then(|arguments| arguments.values().find_map(Value::as_str));
        let told: String = told
            .unwrap_or_default()
            .lines()
            .next()
            .unwrap_or_default()
            .chars()
            .take(TITLE)
            .collect();
        let title = format!("{} {}", self.server, self.name);
        if told.is_empty() {
            title
        } else {
            format!("{title}: {told}")
        }
    }

    fn preview(&self, input: &Value, _context: &ToolContext) -> String {
        serde_json::to_string_pretty(input).unwrap_or_default()
    }

    fn run(&self, input: Value, context: ToolContext) -> BoxFuture<'static, ToolOutput> {
        let (slot, server, name, limit) = (
            self.slot.clone(),
            self.server.clone(),
            self.name.clone(),
            self.limit,
        );
        Box::pin(async move {
            let _needed = slot.lease();
            let arguments = input.as_object().cloned().unwrap_or_default();
            let call = CallToolRequestParams::new(name).with_arguments(arguments);
            match slot.call(call, limit, &context).await {
                Ok((result, connection)) => result_content::output(result, &connection),
                Err(error) => failure(&server, &error),
            }
        })
    }
}

/// What the model is told when a call did not get an answer.
pub(super) fn failure(server: &str, error: &Error) -> ToolOutput {
    let (code, advice) = match error {
        Error::Gone(_) => (
            ErrorCode::ToolInterrupted,
            "Nobody knows whether the call took effect. The server is started again with the next call.",
        ),
        Error::NoAnswer(_) => (
            ErrorCode::ToolFailed,
            "Nobody knows whether the call took effect.",
        ),
        Error::Resting { .. }
        | Error::NotReady(_)
        | Error::Unreachable(_)
        | Error::Unconfined(_)
        | Error::Unfetched(_) => (
            ErrorCode::ToolFailed,
            "Its tools cannot be used now; go on without them.",
        ),
        Error::Unauthorized => (
            ErrorCode::ToolFailed,
            "A person must run: rooftree mcp login",
        ),
        Error::Cancelled => (ErrorCode::ToolCancelled, ""),
        Error::Refused(_) | Error::Misconfigured(_) | Error::Pins(_) => (ErrorCode::ToolFailed, ""),
    };
    ToolOutput::failed(
        code,
        format!("MCP server `{server}`: {error}. {advice}")
            .trim_end()
            .to_owned(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_not_believed_when_it_says_that_it_only_looks() {
        let looks = ToolAnnotations::new().read_only(true);
        let destroys = ToolAnnotations::new().read_only(false).destructive(true);
        assert_eq!(effect(Some(&looks), false), Effect::RemoteAction);
        assert_eq!(effect(Some(&looks), true), Effect::ReadOnly);
        assert_eq!(effect(Some(&destroys), true), Effect::RemoteAction);
        assert_eq!(effect(None, true), Effect::RemoteAction);
    }
}

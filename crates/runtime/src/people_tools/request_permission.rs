//! RequestPermission: an agent asks beforehand for what its work will need.
//!
//! The question is an ordinary permission question whose rule is what was asked for, so a yes is
//! kept like any other: shown before it is saved, bound to this very call, the first answer wins.

use futures::future::BoxFuture;
use rooftree_protocol::ToolSpec;
use rooftree_tools::{
    PermissionRule, Tool, ToolContext, ToolInfo, ToolOutput,
    arguments::{self, ArgumentKind, ToolArgument, text},
    session_tools::REQUEST_PERMISSION,
};
use serde_json::Value;

const DESCRIPTION: &str = "Ask the user, before you need it, to permit something: a rule such as Bash(git push *), \
    Write(/srv/site/**) or WebFetch(domain:example.org), or @web, @read:PATH, @write:PATH.";

const ARGUMENTS: [ToolArgument; 2] = [
    ToolArgument::new("permission", ArgumentKind::Text, "The rule")
        .required()
        .with_aliases(&["rule"]),
    ToolArgument::new("reason", ArgumentKind::Text, "What it is needed for")
        .required()
        .with_aliases(&["because"]),
];

pub(super) struct RequestPermissionTool(ToolSpec);

impl RequestPermissionTool {
    pub(super) fn new() -> Self {
        Self(arguments::spec(
            REQUEST_PERMISSION.name,
            DESCRIPTION,
            &ARGUMENTS,
        ))
    }
}

impl Tool for RequestPermissionTool {
    fn info(&self) -> &ToolInfo {
        &REQUEST_PERMISSION
    }

    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn normalise(&self, _called_as: &str, input: Value) -> Result<Value, String> {
        let mut canonical = arguments::normalise(REQUEST_PERMISSION.name, &ARGUMENTS, input)?;
        let written = canonical.get("permission").and_then(Value::as_str);
        let rule = PermissionRule::parse(written.unwrap_or_default())
            .map_err(|problem| problem.to_string())?;
        canonical.insert("permission".into(), rule.to_string().into());
        Ok(Value::Object(canonical))
    }

    fn title(&self, input: &Value) -> String {
        text(input, "permission").to_owned()
    }

    fn wants(&self, input: &Value) -> Option<String> {
        Some(text(input, "permission").to_owned())
    }

    fn preview(&self, input: &Value, _context: &ToolContext) -> String {
        text(input, "reason").to_owned()
    }

    /// Only reached after a yes.
    fn run(&self, input: Value, _context: ToolContext) -> BoxFuture<'static, ToolOutput> {
        let words = format!("Permitted: {}", text(&input, "permission"));
        Box::pin(async move { ToolOutput::done(words) })
    }
}

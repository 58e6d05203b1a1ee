//! Grep: lines by regular expression, with ripgrep's own parts.

mod query;
mod search;
mod sink;

use futures::future::BoxFuture;
use rooftree_protocol::{ErrorCode, ToolSpec};
use serde_json::Value;

use crate::{
    Tool, ToolContext, ToolOutput,
    arguments::{self, ArgumentKind, ToolArgument, text},
    blocking,
    tool_info::{ToolInfo, ToolSubject},
};
use query::GrepQuery;

pub(crate) const INFO: ToolInfo = ToolInfo {
    aliases: &["grep_search", "ripgrep", "rg"],
    ..ToolInfo::reads_files("Grep", ToolSubject::SearchPath("path"))
};

const DESCRIPTION: &str = "Search file contents by regular expression (Rust syntax); shows `path:line:text`. Ignored \
    and binary files are left out.";

pub(crate) const ARGUMENTS: [ToolArgument; 12] = [
    ToolArgument::new("pattern", ArgumentKind::Text, "")
        .required()
        .with_aliases(&["regex", "query"]),
    ToolArgument::new("path", ArgumentKind::Text, "").with_aliases(&[
        "file_path",
        "filePath",
        "directory",
    ]),
    ToolArgument::new("glob", ArgumentKind::Text, "`*.rs`")
        .with_aliases(&["include", "file_pattern"]),
    ToolArgument::new("type", ArgumentKind::Text, "rust, py, js").with_aliases(&["file_type"]),
    ToolArgument::new(
        "output_mode",
        ArgumentKind::Choice(&["content", "files_with_matches", "count"]),
        "",
    ),
    ToolArgument::new("ignore_case", ArgumentKind::Flag, "")
        .with_aliases(&["-i", "case_insensitive"]),
    ToolArgument::new("context", ArgumentKind::Number, "Lines around").with_aliases(&["-C"]),
    ToolArgument::accepted("before", ArgumentKind::Number).with_aliases(&["-B"]),
    ToolArgument::accepted("after", ArgumentKind::Number).with_aliases(&["-A"]),
    ToolArgument::new("multiline", ArgumentKind::Flag, "").with_aliases(&["-U"]),
    ToolArgument::new("head_limit", ArgumentKind::Number, "Default 250")
        .with_aliases(&["limit", "max_results"]),
    ToolArgument::accepted("line_numbers", ArgumentKind::Flag).with_aliases(&["-n"]),
];

/// The Grep tool.
pub(crate) struct GrepTool(ToolSpec);

impl GrepTool {
    pub fn new() -> Self {
        Self(arguments::spec(INFO.name, DESCRIPTION, &ARGUMENTS))
    }
}

impl Tool for GrepTool {
    fn info(&self) -> &ToolInfo {
        &INFO
    }

    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn normalise(&self, _called_as: &str, input: Value) -> Result<Value, String> {
        arguments::normalise(INFO.name, &ARGUMENTS, input).map(Value::Object)
    }

    fn title(&self, input: &Value) -> String {
        match text(input, "path") {
            "" => text(input, "pattern").to_owned(),
            path => format!("{} in {path}", text(input, "pattern")),
        }
    }

    fn run(&self, input: Value, context: ToolContext) -> BoxFuture<'static, ToolOutput> {
        blocking::run(move || {
            let query = GrepQuery::new(&input, &context)?;
            let found = search::search(&query, &context);
            if context.cancel.is_cancelled() {
                return Ok(ToolOutput::failed(ErrorCode::ToolCancelled, "[cancelled]"));
            }
            Ok(ToolOutput {
                files: found.notes(&query),
                ..ToolOutput::done(found.describe(&query, &context))
            })
        })
    }
}

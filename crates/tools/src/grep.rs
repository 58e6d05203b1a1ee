//! Grep: lines by regular expression, with ripgrep's own parts.

mod query;
mod search;
mod sink;

use futures::future::BoxFuture;
use rooftree_protocol::{Effect, ErrorCode, ToolKind, ToolSpec};
use serde_json::Value;

use crate::{
    Tool, ToolContext, ToolOutput,
    arguments::{self, Argument, Kind, text},
    blocking,
};
use query::Query;

const DESCRIPTION: &str = "Search file contents with a regular expression (Rust syntax). Ignored and binary files \
    are left out. Shows `path:line:text`.";

pub(crate) const ARGUMENTS: [Argument; 12] = [
    Argument::new("pattern", Kind::Text, "").required().also(&["regex", "query"]),
    Argument::new("path", Kind::Text, "File or directory").also(&["file_path", "filePath", "directory"]),
    Argument::new("glob", Kind::Text, "Only these files: `*.rs`").also(&["include", "file_pattern"]),
    Argument::new("type", Kind::Text, "Only files of a type: rust, py, js").also(&["file_type"]),
    Argument::new(
        "output_mode",
        Kind::Choice(&["content", "files_with_matches", "count"]),
        "Default content",
    ),
    Argument::new("ignore_case", Kind::Flag, "").also(&["-i", "case_insensitive"]),
    Argument::new("context", Kind::Number, "Lines around each match").also(&["-C"]),
    Argument::new("before", Kind::Number, "").also(&["-B"]),
    Argument::new("after", Kind::Number, "").also(&["-A"]),
    Argument::new("multiline", Kind::Flag, "`.` also matches line ends").also(&["-U"]),
    Argument::new("head_limit", Kind::Number, "Lines or files shown; default 250")
        .also(&["limit", "max_results"]),
    Argument::accepted("line_numbers", Kind::Flag).also(&["-n"]),
];

/// The Grep tool.
pub(crate) struct Grep(ToolSpec);

impl Grep {
    pub fn new() -> Self {
        Self(arguments::spec("Grep", DESCRIPTION, &ARGUMENTS))
    }
}

impl Tool for Grep {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn aliases(&self) -> &'static [&'static str] {
        &["grep_search", "ripgrep", "rg"]
    }

    fn kind(&self) -> ToolKind {
        ToolKind::Search
    }

    fn normalise(&self, _called_as: &str, input: Value) -> Result<Value, String> {
        arguments::normalise("Grep", &ARGUMENTS, input).map(Value::Object)
    }

    fn effect(&self, _input: &Value) -> Effect {
        Effect::ReadOnly
    }

    fn title(&self, input: &Value) -> String {
        match text(input, "path") {
            "" => text(input, "pattern").to_owned(),
            path => format!("{} in {path}", text(input, "pattern")),
        }
    }

    fn subject(&self, input: &Value) -> Option<String> {
        let path = text(input, "path");
        Some(if path.is_empty() { ".".to_owned() } else { path.to_owned() })
    }

    fn run(&self, input: Value, context: ToolContext) -> BoxFuture<'static, ToolOutput> {
        blocking::run(move || {
            let query = Query::new(&input, &context)?;
            let found = search::search(&query, &context);
            if context.cancel.is_cancelled() {
                return Ok(ToolOutput::failed(ErrorCode::ToolCancelled, "[cancelled]"));
            }
            Ok(ToolOutput::done(found.describe(&query, &context)))
        })
    }
}

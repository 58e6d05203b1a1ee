//! SemanticSearch: finds chunks of code and text by topic, offline.
//!
//! The search itself is the crate `rooftree_search`. The root of an index is the working directory, or, for a path
//! outside it, that path: only files that the policy has judged are read.

mod request;

use std::{path::PathBuf, sync::Arc};

use futures::future::BoxFuture;
use rooftree_protocol::{ErrorCode, ToolSpec};
use rooftree_search::{Embedder, FileSource, SearchError, SemanticSearcher};
use serde_json::Value;

use crate::{
    Tool, ToolContext, ToolOutput,
    arguments::{self, ArgumentKind, ToolArgument, text},
    reach,
    tool_info::{ExposedAs, ToolInfo, ToolSubject},
    walk::{self, WalkExclusion},
};

/// Files as other search tools find, open and show them.
const FILES: FileSource = FileSource {
    walk: |root| walk::walk(root, WalkExclusion::Ignored),
    open: reach::read,
    shown: walk::shown,
};

pub(crate) const INFO: ToolInfo = ToolInfo {
    aliases: &["semantic_search"],
    exposed_as: ExposedAs::CodeSearch,
    ..ToolInfo::reads_files("SemanticSearch", ToolSubject::SearchPath("path"))
};

const DESCRIPTION: &str = "Find code and text by topic, in plain words or identifiers: `where are retries handled`. \
    For exact text use Grep.";

const ARGUMENTS: [ToolArgument; 4] = [
    ToolArgument::new("query", ArgumentKind::Text, "")
        .required()
        .with_aliases(&["q", "question", "pattern"]),
    ToolArgument::new("path", ArgumentKind::Text, "").with_aliases(&[
        "file_path",
        "filePath",
        "directory",
    ]),
    ToolArgument::new("limit", ArgumentKind::Number, "").with_aliases(&[
        "max_results",
        "top_k",
        "head_limit",
    ]),
    ToolArgument::accepted(
        "kind",
        ArgumentKind::Choice(&["function", "type", "heading", "text"]),
    ),
];

/// The SemanticSearch tool.
pub struct SemanticSearchTool {
    spec: ToolSpec,
    search: Arc<SemanticSearcher>,
}

impl SemanticSearchTool {
    /// A search that keeps its indexes in a directory of their own; none: only in memory.
    pub fn new(cache_directory: Option<PathBuf>) -> Self {
        let spec = arguments::spec(INFO.name, DESCRIPTION, &ARGUMENTS);
        Self {
            spec,
            search: Arc::new(SemanticSearcher::new(FILES, cache_directory, None)),
        }
    }

    /// A search that knows meanings too.
    pub fn with_embedder(cache_directory: Option<PathBuf>, embedder: Arc<dyn Embedder>) -> Self {
        Self {
            search: Arc::new(SemanticSearcher::new(
                FILES,
                cache_directory,
                Some(embedder),
            )),
            ..Self::new(None)
        }
    }
}

impl Tool for SemanticSearchTool {
    fn info(&self) -> &ToolInfo {
        &INFO
    }

    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn normalise(&self, _called_as: &str, input: Value) -> Result<Value, String> {
        let input = arguments::normalise(INFO.name, &ARGUMENTS, input).map(Value::Object)?;
        if text(&input, "query").trim().is_empty() {
            return Err("SemanticSearch: `query` is empty.".to_owned());
        }
        Ok(input)
    }

    fn title(&self, input: &Value) -> String {
        match text(input, "path") {
            "" => text(input, "query").to_owned(),
            path => format!("{} in {path}", text(input, "query")),
        }
    }

    fn run(&self, input: Value, context: ToolContext) -> BoxFuture<'static, ToolOutput> {
        let search = self.search.clone();
        Box::pin(async move {
            let cancel = context.cancel.clone();
            tokio::select! {
                biased;
                // What runs on another thread sees it too, and ends.
                () = cancel.cancelled() => ToolOutput::failed(ErrorCode::ToolCancelled, "[cancelled]"),
                output = run(search, input, context) => output,
            }
        })
    }
}

async fn run(search: Arc<SemanticSearcher>, input: Value, context: ToolContext) -> ToolOutput {
    let reach = context.reach.clone();
    let parsing = tokio::task::spawn_blocking(move || request::parse(&input, context));
    let request = match parsing.await {
        Ok(Ok(request)) => request,
        Ok(Err(words)) => return ToolOutput::failed(ErrorCode::ToolFailed, words),
        Err(error) => return broken(&error.to_string()),
    };
    match search.search(request).await {
        Ok(mut text) => {
            text.extend(reach.notice().map(|notice| format!("\n{notice}")));
            ToolOutput::done(text)
        }
        Err(SearchError::Failed(words)) => ToolOutput::failed(ErrorCode::ToolFailed, words),
        Err(SearchError::Broken(why)) => broken(&why),
    }
}

fn broken(why: &str) -> ToolOutput {
    ToolOutput::failed(ErrorCode::Internal, format!("The tool broke: {why}."))
}

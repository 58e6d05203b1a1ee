//! SemanticSearch: finds chunks of code and text by topic, offline.
//!
//! The words of a query are looked up in an index of the working directory: identifiers are split, words are stemmed,
//! chunks are ranked by BM25 (`rank.rs`) and reranked (`rerank.rs`). With an [`Embedder`], a second ranking by
//! embeddings is fused in (`embeddings.rs`).
//!
//! There is one index per root. The root is the working directory, or, for a path outside it, that path: only files
//! that the policy has judged are read. Every search refreshes the index.

mod answer;
mod chunk;
mod definition;
mod embedder;
mod embeddings;
mod file_scan;
mod index;
mod index_cache;
mod index_file;
mod indexed_file;
mod postings;
mod prior;
mod query;
mod rank;
mod request;
mod rerank;
mod search;
mod stem;
mod synonyms;
mod tokenizer;
mod vectors;

use std::{path::PathBuf, sync::Arc};

use futures::future::BoxFuture;
use rooftree_protocol::{ErrorCode, ToolSpec};
use serde_json::Value;

use crate::{
    Tool, ToolContext, ToolOutput,
    arguments::{self, ArgumentKind, ToolArgument, text},
    tool_info::{ExposedAs, ToolInfo, ToolSubject},
};
pub use embedder::Embedder;
use search::SemanticSearcher;

pub(crate) const INFO: ToolInfo = ToolInfo {
    aliases: &["semantic_search"],
    exposed_as: ExposedAs::CodeSearch,
    ..ToolInfo::reads_files("SemanticSearch", ToolSubject::SearchPath("path"))
};

const DESCRIPTION: &str = "Find code and text by what it is about, in plain words or identifiers: \
    `where are retries handled`. Shows the best places with a few lines each. Grep is better for exact text.";

const ARGUMENTS: [ToolArgument; 4] = [
    ToolArgument::new("query", ArgumentKind::Text, "")
        .required()
        .with_aliases(&["q", "question", "pattern"]),
    ToolArgument::new("path", ArgumentKind::Text, "File or directory").with_aliases(&[
        "file_path",
        "filePath",
        "directory",
    ]),
    ToolArgument::new("limit", ArgumentKind::Number, "Default 10, at most 50").with_aliases(&[
        "max_results",
        "top_k",
        "head_limit",
    ]),
    ToolArgument::new(
        "kind",
        ArgumentKind::Choice(&["function", "type", "heading", "text"]),
        "",
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
            search: Arc::new(SemanticSearcher::new(cache_directory, None)),
        }
    }

    /// A search that knows meanings too.
    pub fn with_embedder(cache_directory: Option<PathBuf>, embedder: Arc<dyn Embedder>) -> Self {
        Self {
            search: Arc::new(SemanticSearcher::new(cache_directory, Some(embedder))),
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
                output = search.run(input, context) => output,
            }
        })
    }
}

/// The words of a text, as a search compares them.
pub(crate) fn terms(text: &str) -> Vec<u32> {
    let mut terms = Vec::new();
    tokenizer::WordSplitter::default().each(text, |term, _| terms.push(term));
    terms
}

//! SemanticSearch: pieces of code and text by what they are about, offline.
//!
//! The words of a question are looked up in an index of the working directory: identifiers split,
//! forms of a word brought together, pieces ordered by BM25 (`rank.rs`) and a closer look
//! (`look.rs`). With an [`Embedder`] a second order by meaning is fused in (`meaning.rs`).
//!
//! There is one index per root. The root is the working directory, or, for a path outside it, that
//! path: what is read is never more than what the policy judged. It is refreshed by every search.

mod answer;
mod bearing;
mod chunk;
mod definition;
mod embedder;
mod entry;
mod index;
mod look;
mod meaning;
mod postings;
mod query;
mod rank;
mod request;
mod search;
mod shelf;
mod stem;
mod stored;
mod survey;
mod synonyms;
mod vectors;
mod words;

use std::{path::PathBuf, sync::Arc};

use futures::future::BoxFuture;
use rooftree_protocol::{Effect, ErrorCode, ToolKind, ToolSpec};
use serde_json::Value;

use crate::{
    Tool, ToolContext, ToolOutput,
    arguments::{self, Argument, Kind, text},
};
pub use embedder::Embedder;
use search::Search;

const DESCRIPTION: &str = "Find code and text by what it is about, in plain words or identifiers: \
    `where are retries handled`. Shows the best places with a few lines each. Grep is better for exact text.";

const ARGUMENTS: [Argument; 4] = [
    Argument::new("query", Kind::Text, "").required().also(&["q", "question", "pattern"]),
    Argument::new("path", Kind::Text, "File or directory").also(&["file_path", "filePath", "directory"]),
    Argument::new("limit", Kind::Number, "Default 10, at most 50").also(&[
        "max_results",
        "top_k",
        "head_limit",
    ]),
    Argument::new("kind", Kind::Choice(&["function", "type", "heading", "text"]), ""),
];

/// The SemanticSearch tool.
pub struct SemanticSearch {
    spec: ToolSpec,
    search: Arc<Search>,
}

impl SemanticSearch {
    /// A search that keeps its indexes in a directory of their own; none: only in memory.
    pub fn new(cache_directory: Option<PathBuf>) -> Self {
        let spec = arguments::spec("SemanticSearch", DESCRIPTION, &ARGUMENTS);
        Self { spec, search: Arc::new(Search::new(cache_directory, None)) }
    }

    /// A search that knows meanings too.
    pub fn with_embedder(cache_directory: Option<PathBuf>, embedder: Arc<dyn Embedder>) -> Self {
        Self { search: Arc::new(Search::new(cache_directory, Some(embedder))), ..Self::new(None) }
    }
}

impl Tool for SemanticSearch {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn aliases(&self) -> &'static [&'static str] {
        &["semantic_search"]
    }

    fn kind(&self) -> ToolKind {
        ToolKind::Search
    }

    fn normalise(&self, _called_as: &str, input: Value) -> Result<Value, String> {
        let input = arguments::normalise("SemanticSearch", &ARGUMENTS, input).map(Value::Object)?;
        if text(&input, "query").trim().is_empty() {
            return Err("SemanticSearch: `query` is empty.".to_owned());
        }
        Ok(input)
    }

    fn effect(&self, _input: &Value) -> Effect {
        Effect::ReadOnly
    }

    fn title(&self, input: &Value) -> String {
        match text(input, "path") {
            "" => text(input, "query").to_owned(),
            path => format!("{} in {path}", text(input, "query")),
        }
    }

    fn subject(&self, input: &Value) -> Option<String> {
        let path = text(input, "path");
        Some(if path.is_empty() { ".".to_owned() } else { path.to_owned() })
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
    words::Splitter::default().each(text, |term, _| terms.push(term));
    terms
}

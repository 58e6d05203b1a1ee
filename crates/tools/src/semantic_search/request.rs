//! Parses and validates the arguments of SemanticSearch: query, path, filters, limit.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{definition::ChunkKind, query::SearchQuery, rank::SearchFilter};
use crate::{
    ToolContext,
    arguments::{number, text},
};

/// Places shown, unless the model asks for another number, and at most.
const DEFAULT_SHOWN: u64 = 10;
const MOST_SHOWN: u64 = 50;

/// A validated search.
pub(super) struct SemanticSearchRequest {
    /// The question as it was asked.
    pub text: String,
    pub query: SearchQuery,
    /// Root of the index, with links resolved.
    pub root: PathBuf,
    pub limit: usize,
    /// Directory that shown paths are relative to.
    pub cwd: PathBuf,
    inside: PathBuf,
    kind: Option<ChunkKind>,
}

impl SemanticSearchRequest {
    pub fn new(input: &Value, context: &ToolContext) -> Result<Self, String> {
        let written = text(input, "path");
        let shown = if written.is_empty() { "." } else { written };
        let target = context.target(shown)?;
        target.look("search")?;
        let cwd = context
            .reach
            .pinned()
            .map(|pinned| pinned.home.clone())
            .unwrap_or_default();
        let asked = target.path;
        let (root, inside) = match asked.strip_prefix(&cwd) {
            Ok(inside) => (cwd.clone(), inside.to_owned()),
            Err(_) => (asked.clone(), PathBuf::new()),
        };
        let kinds = [
            ChunkKind::Function,
            ChunkKind::Type,
            ChunkKind::Heading,
            ChunkKind::Text,
        ];
        let limit = number(input, "limit")
            .unwrap_or(DEFAULT_SHOWN)
            .clamp(1, MOST_SHOWN);
        Ok(Self {
            text: text(input, "query").to_owned(),
            query: SearchQuery::new(text(input, "query")),
            root,
            limit: usize::try_from(limit).unwrap_or(usize::MAX),
            cwd,
            inside,
            kind: kinds
                .into_iter()
                .find(|kind| kind.word() == text(input, "kind")),
        })
    }

    /// Filter of the search.
    pub fn wanted(&self) -> SearchFilter<'_> {
        SearchFilter {
            inside: Path::new(&self.inside),
            kind: self.kind,
        }
    }
}

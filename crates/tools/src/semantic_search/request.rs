//! Parses and validates the arguments of SemanticSearch: query, path, filters, limit.

use std::{path::PathBuf, sync::Arc};

use rooftree_search::{ChunkKind, PathFilter, SearchRequest};
use serde_json::Value;

use crate::{
    ToolContext,
    arguments::{number, text},
};

/// Places shown, unless the model asks for another number, and at most.
const DEFAULT_SHOWN: u64 = 10;
const MOST_SHOWN: u64 = 50;

/// A validated search. An `Err` is what the model reads.
pub(super) fn parse(input: &Value, context: ToolContext) -> Result<SearchRequest, String> {
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
    let limit = number(input, "limit")
        .unwrap_or(DEFAULT_SHOWN)
        .clamp(1, MOST_SHOWN);
    let kind = text(input, "kind");
    Ok(SearchRequest {
        text: text(input, "query").to_owned(),
        root,
        inside,
        kind: ChunkKind::ALL
            .into_iter()
            .find(|known| known.word() == kind),
        limit: usize::try_from(limit).unwrap_or(usize::MAX),
        cwd,
        admits: admits(&context),
        cancel: context.cancel,
        progress: context.progress,
    })
}

/// Leaves out what rules keep from the call.
fn admits(context: &ToolContext) -> Option<PathFilter> {
    let reach = context.reach.clone();
    let admits: PathFilter = Arc::new(move |path| reach.admits_listed(path));
    context.reach.is_limited().then_some(admits)
}

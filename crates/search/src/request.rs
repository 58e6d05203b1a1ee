//! One search: its question, where to look, and what to leave out.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use tokio_util::sync::CancellationToken;

use super::{definition::ChunkKind, rank::SearchFilter};

/// Says of a path whether a search may show it.
pub type PathFilter = Arc<dyn Fn(&Path) -> bool + Send + Sync>;

/// A search to be made.
#[derive(Clone)]
pub struct SearchRequest {
    /// The question as it was asked.
    pub text: String,
    /// Root of the index, with links resolved.
    pub root: PathBuf,
    /// Only what lies in this part of the root; empty: all of it.
    pub inside: PathBuf,
    /// Only chunks of this kind.
    pub kind: Option<ChunkKind>,
    /// How many chunks are shown at most.
    pub limit: usize,
    /// Directory that shown paths are relative to.
    pub cwd: PathBuf,
    /// Paths that may be shown; none: all of them. The index is shared with searches that may see more.
    pub admits: Option<PathFilter>,
    /// Ends the search.
    pub cancel: CancellationToken,
    /// Gets messages about a long indexing.
    pub progress: Arc<dyn Fn(&str) + Send + Sync>,
}

impl SearchRequest {
    /// A search in all of a root that shows the ten best chunks.
    pub fn new(text: &str, root: &Path) -> Self {
        Self {
            text: text.to_owned(),
            root: root.to_owned(),
            inside: PathBuf::new(),
            kind: None,
            limit: 10,
            cwd: root.to_owned(),
            admits: None,
            cancel: CancellationToken::new(),
            progress: Arc::new(|_| {}),
        }
    }

    /// Filter of the search.
    pub(crate) fn filter(&self) -> SearchFilter<'_> {
        SearchFilter {
            inside: &self.inside,
            kind: self.kind,
        }
    }
}

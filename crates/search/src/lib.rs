//! Search by topic, offline: an index of the files of a directory, ranked by keywords and, optionally, by embeddings.
//!
//! A [`SemanticSearcher`] answers a [`SearchRequest`]. The words of a query are looked up in an index of the root:
//! identifiers are split, words are stemmed, chunks are ranked by BM25 (`rank.rs`) and reranked (`rerank.rs`). With an
//! [`Embedder`], a second ranking by embeddings is fused in (`embeddings.rs`). There is one index per root, and every
//! search refreshes it. Which files there are and how they are opened is the caller's [`FileSource`].
//!
//! ```
//! use std::sync::Arc;
//! use rooftree_search::{FileSource, SearchRequest, SemanticSearcher};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> std::io::Result<()> {
//! let root = tempfile::tempdir()?;
//! std::fs::write(root.path().join("net.rs"), "/// Waits and sends again.\nfn retry_later() {}\n")?;
//! let source = FileSource {
//!     walk: |root| ignore::WalkBuilder::new(root),
//!     open: |path| std::fs::File::open(path),
//!     shown: |path, cwd| path.strip_prefix(cwd).unwrap_or(path).display().to_string(),
//! };
//! let searcher = Arc::new(SemanticSearcher::new(source, None, None));
//! let request = SearchRequest::new("where are retries", root.path());
//! assert!(searcher.search(request).await.is_ok_and(|text| text.starts_with("net.rs:")));
//! # Ok(())
//! # }
//! ```

mod answer;
mod chunk;
mod definition;
mod embeddings;
mod file_scan;
mod file_source;
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

pub use definition::ChunkKind;
pub use embeddings::Embedder;
pub use file_source::FileSource;
pub use request::{PathFilter, SearchRequest};
pub use search::{SearchError, SemanticSearcher};

/// The words of a text, as a search compares them.
pub fn terms(text: &str) -> Vec<u32> {
    let mut terms = Vec::new();
    tokenizer::WordSplitter::default().each(text, |term, _| terms.push(term));
    terms
}

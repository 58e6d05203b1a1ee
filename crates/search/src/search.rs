//! Runs one search from query to answer: by keywords, and by embeddings if there is an embedder.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use super::{
    answer::SearchAnswer,
    embeddings::{self, Embedder, EmbeddingBatch, EmbeddingSearch},
    file_source::FileSource,
    index::SearchIndex,
    index_cache::IndexCache,
    query::SearchQuery,
    rank::{ChunkHit, RankedChunks, rank},
    request::SearchRequest,
    rerank::{RerankMode, SearchResult, look},
    vectors::ChunkVectors,
};

/// Pieces that get a closer look.
const CANDIDATES: usize = 60;

/// Why a search has no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SearchError {
    /// A sentence that says why.
    Failed(String),
    /// The search itself broke (panic).
    Broken(String),
}

/// Answers searches by topic; keeps indexes, and embeddings if it has an embedder.
pub struct SemanticSearcher {
    shelf: IndexCache,
    meaning: Option<EmbeddingSearch>,
}

/// Results of the keyword search.
struct KeywordResults {
    request: SearchRequest,
    query: SearchQuery,
    source: FileSource,
    index: Arc<SearchIndex>,
    ranked: RankedChunks,
}

impl SemanticSearcher {
    /// A searcher that keeps its indexes in a directory of their own; none: only in memory.
    pub fn new(
        source: FileSource,
        cache_directory: Option<PathBuf>,
        embedder: Option<Arc<dyn Embedder>>,
    ) -> Self {
        Self {
            shelf: IndexCache::new(cache_directory, source),
            meaning: embedder.map(EmbeddingSearch::new),
        }
    }

    /// The best chunks as text, each with its place and a few lines.
    pub async fn search(self: Arc<Self>, request: SearchRequest) -> Result<String, SearchError> {
        if self.meaning.is_some() {
            return self.with_meaning(request).await;
        }
        off_thread(move || {
            let by_words = self.by_words(request)?;
            Ok(by_words.answer(&by_words.ranked, RerankMode::ByLook, Vec::new()))
        })
        .await
    }

    fn by_words(&self, request: SearchRequest) -> Result<KeywordResults, String> {
        let index = self
            .shelf
            .index(&request.root, &request.cancel, &*request.progress);
        let index = index.ok_or("[cancelled]")?;
        let index = match &request.admits {
            Some(admits) => index.within(&**admits),
            None => index,
        };
        let query = SearchQuery::new(&request.text);
        let most = CANDIDATES.max(request.limit * 2);
        let ranked = rank(&index, &query, &request.filter(), most);
        Ok(KeywordResults {
            request,
            query,
            source: self.shelf.source(),
            index,
            ranked,
        })
    }

    /// The same in three steps; the middle one is async, because it calls the embedder.
    async fn with_meaning(self: Arc<Self>, request: SearchRequest) -> Result<String, SearchError> {
        let search = self.clone();
        let (by_words, missing) = off_thread(move || {
            let by_words = search.by_words(request)?;
            let missing = search.missing(&by_words);
            Ok((by_words, missing))
        })
        .await?;
        let Some(meaning) = &self.meaning else {
            return Err(SearchError::Failed("There is no embedder.".to_owned()));
        };
        let learnt = meaning.learn(&by_words.request.text, missing).await;
        off_thread(move || Ok(self.fuse(&by_words, learnt))).await
    }

    fn vectors(&self, by_words: &KeywordResults) -> Option<Arc<Mutex<ChunkVectors>>> {
        let root = &by_words.index.root;
        Some(
            self.meaning
                .as_ref()?
                .vectors(root, self.shelf.place(root, "vectors").as_deref()),
        )
    }

    fn missing(&self, by_words: &KeywordResults) -> Vec<(u64, String)> {
        let Some(vectors) = self.vectors(by_words) else {
            return Vec::new();
        };
        let mut vectors = vectors.lock().unwrap_or_else(PoisonError::into_inner);
        vectors.make_room(&by_words.index);
        if vectors.is_full() {
            return Vec::new();
        }
        embeddings::missing(
            &by_words.index,
            &by_words.ranked.hits,
            &by_words.request.filter(),
            &vectors,
        )
    }

    fn fuse(&self, by_words: &KeywordResults, learnt: EmbeddingBatch) -> String {
        let mut notices: Vec<String> = learnt
            .failure
            .iter()
            .map(|failure| format!("without all meanings, because the embedder failed: {failure}"))
            .collect();
        let (Some(vectors), Some(question)) = (self.vectors(by_words), learnt.question) else {
            return by_words.answer(&by_words.ranked, RerankMode::ByLook, notices);
        };
        let mut vectors = vectors.lock().unwrap_or_else(PoisonError::into_inner);
        let is_changed = !learnt.pieces.is_empty();
        learnt
            .pieces
            .iter()
            .for_each(|(key, vector)| vectors.insert(*key, vector));
        if let (true, Some(meaning), Some(place)) = (
            is_changed,
            &self.meaning,
            self.shelf.place(&by_words.index.root, "vectors"),
        ) {
            // Without it the vectors are asked for again some day.
            let _ = vectors.save(&place, meaning.name());
        }
        let (some, all) = vectors.covered(&by_words.index);
        if some < all {
            notices.push(format!(
                "the meaning of {some} of {all} pieces is known; each search learns more"
            ));
        }
        let meanings = vectors.closest(
            &by_words.index,
            &question,
            &by_words.request.filter(),
            CANDIDATES,
        );
        let looked_at = by_words.look(&by_words.ranked, RerankMode::ByLook, CANDIDATES);
        let words: Vec<ChunkHit> = looked_at.iter().map(|found| found.hit).collect();
        let hits = embeddings::fuse_rankings(&words, &meanings);
        let RankedChunks {
            rarities, unknown, ..
        } = &by_words.ranked;
        let ranked = RankedChunks {
            hits,
            rarities: rarities.clone(),
            unknown: unknown.clone(),
        };
        by_words.answer(&ranked, RerankMode::Kept, notices)
    }
}

impl KeywordResults {
    fn look(&self, ranked: &RankedChunks, order: RerankMode, most: usize) -> Vec<SearchResult> {
        look(&self.index, &self.query, ranked, order, most)
    }

    fn answer(&self, ranked: &RankedChunks, order: RerankMode, notices: Vec<String>) -> String {
        let found = self.look(ranked, order, self.request.limit);
        let answer = SearchAnswer {
            index: &self.index,
            query: &self.query,
            found: &found,
            unknown: &ranked.unknown,
            notices,
        };
        let shown = |path: &Path| (self.source.shown)(path, &self.request.cwd);
        answer.text(&self.request.text, &shown)
    }
}

async fn off_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, SearchError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result.map_err(SearchError::Failed),
        Err(error) => Err(SearchError::Broken(error.to_string())),
    }
}

//! Runs one search from query to answer: by keywords, and by embeddings if there is an embedder.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use rooftree_protocol::ErrorCode;
use serde_json::Value;

use super::{
    answer::SearchAnswer,
    embedder::Embedder,
    embeddings::{self, EmbeddingBatch, EmbeddingSearch},
    index::SearchIndex,
    index_cache::IndexCache,
    rank::{ChunkHit, RankedChunks, rank},
    request::SemanticSearchRequest,
    rerank::{RerankMode, SearchResult, look},
    vectors::ChunkVectors,
};
use crate::{ToolContext, ToolOutput, blocking};

/// Pieces that get a closer look.
const CANDIDATES: usize = 60;

/// State shared by all searches of one tool.
pub(super) struct SemanticSearcher {
    shelf: IndexCache,
    meaning: Option<EmbeddingSearch>,
}

/// Results of the keyword search.
struct KeywordResults {
    request: SemanticSearchRequest,
    index: Arc<SearchIndex>,
    ranked: RankedChunks,
    /// Notice that rules excluded something, if they did.
    notice: Option<String>,
}

impl SemanticSearcher {
    pub fn new(cache_directory: Option<PathBuf>, embedder: Option<Arc<dyn Embedder>>) -> Self {
        Self {
            shelf: IndexCache::new(cache_directory),
            meaning: embedder.map(EmbeddingSearch::new),
        }
    }

    pub async fn run(self: Arc<Self>, input: Value, context: ToolContext) -> ToolOutput {
        let search = self.clone();
        if self.meaning.is_none() {
            return blocking::run(move || {
                let by_words = search.by_words(&input, &context)?;
                Ok(by_words.answer(&by_words.ranked, RerankMode::ByLook, Vec::new()))
            })
            .await;
        }
        match self.with_meaning(input, context).await {
            Ok(output) => output,
            Err(words) => ToolOutput::failed(ErrorCode::ToolFailed, words),
        }
    }

    fn by_words(&self, input: &Value, context: &ToolContext) -> Result<KeywordResults, String> {
        let request = SemanticSearchRequest::new(input, context)?;
        let index = self
            .shelf
            .index(&request.root, &context.cancel, &context.progress);
        let index = index.ok_or("[cancelled]")?.within(&context.reach);
        let ranked = rank(
            &index,
            &request.query,
            &request.wanted(),
            CANDIDATES.max(request.limit * 2),
        );
        Ok(KeywordResults {
            request,
            index,
            ranked,
            notice: context.reach.notice(),
        })
    }

    /// The same in three steps; the middle one is async, because it calls the embedder.
    async fn with_meaning(
        self: Arc<Self>,
        input: Value,
        context: ToolContext,
    ) -> Result<ToolOutput, String> {
        let search = self.clone();
        let (by_words, missing) = off_thread(move || {
            let by_words = search.by_words(&input, &context)?;
            let missing = search.missing(&by_words);
            Ok((by_words, missing))
        })
        .await?;
        let Some(meaning) = &self.meaning else {
            return Err("There is no embedder.".to_owned());
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
            &by_words.request.wanted(),
            &vectors,
        )
    }

    fn fuse(&self, by_words: &KeywordResults, learnt: EmbeddingBatch) -> ToolOutput {
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
            &by_words.request.wanted(),
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
        look(&self.index, &self.request.query, ranked, order, most)
    }

    fn answer(&self, ranked: &RankedChunks, order: RerankMode, notices: Vec<String>) -> ToolOutput {
        let found = self.look(ranked, order, self.request.limit);
        let SemanticSearchRequest {
            query, text, cwd, ..
        } = &self.request;
        let answer = SearchAnswer {
            index: &self.index,
            query,
            found: &found,
            unknown: &ranked.unknown,
            notices,
        };
        let mut text = answer.text(text, cwd);
        text.extend(self.notice.iter().map(|notice| format!("\n{notice}")));
        ToolOutput::done(text)
    }
}

async fn off_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => Err(format!("The tool broke: {error}.")),
    }
}

//! Embedding search: embeds a few more chunks with each search, and fuses the ranking by embeddings with the one by
//! keywords.
//!
//! A search never waits for a whole repository to be embedded. Chunks that the keywords found are embedded first,
//! then others; the embedded share grows with each search.

use std::{
    collections::{HashMap, HashSet},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures::future::BoxFuture;

use super::{
    index::SearchIndex,
    rank::{ChunkHit, SearchFilter},
    vectors::ChunkVectors,
};

/// Pieces learnt in one search, and in one question to the embedder.
const LEARNT: usize = 256;
const BATCH: usize = 64;

/// Characters of a piece its meaning is taken from.
const CHARS: usize = 2000;

/// How long a search waits for the embedder (timeout).
const PATIENCE: Duration = Duration::from_secs(30);

/// The usual constant of reciprocal rank fusion: first places count, but not alone.
const FUSION: f32 = 60.0;

/// Embedding search: the embedder and the vectors of chunks.
pub(super) struct EmbeddingSearch {
    embedder: Arc<dyn Embedder>,
    /// The vectors of the root that was searched last.
    kept: Mutex<Option<(PathBuf, SharedVectors)>>,
}

type SharedVectors = Arc<Mutex<ChunkVectors>>;

/// Result of an embedder.
pub(super) struct EmbeddingBatch {
    /// The meaning of the question; none without an answer.
    pub question: Option<Vec<f32>>,
    pub pieces: Vec<(u64, Vec<f32>)>,
    /// Error message for the model.
    pub failure: Option<String>,
}

impl EmbeddingSearch {
    pub fn new(embedder: Arc<dyn Embedder>) -> Self {
        Self {
            embedder,
            kept: Mutex::new(None),
        }
    }

    pub fn name(&self) -> &str {
        self.embedder.name()
    }

    /// The vectors of a root.
    pub fn vectors(&self, root: &Path, place: Option<&Path>) -> SharedVectors {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, vectors)) = kept.as_ref().filter(|(known, _)| known == root) {
            return vectors.clone();
        }
        let vectors = place
            .map(|place| ChunkVectors::load(place, self.name()))
            .unwrap_or_default();
        let vectors = Arc::new(Mutex::new(vectors));
        *kept = Some((root.to_owned(), vectors.clone()));
        vectors
    }

    /// Asks for what is missing.
    pub async fn learn(&self, question: &str, missing: Vec<(u64, String)>) -> EmbeddingBatch {
        let mut learnt = EmbeddingBatch {
            question: None,
            pieces: Vec::new(),
            failure: None,
        };
        let asking = self.ask(question, &missing, &mut learnt);
        match tokio::time::timeout(PATIENCE, asking).await {
            Ok(Ok(())) => {}
            Ok(Err(failure)) => learnt.failure = Some(failure),
            Err(_) => learnt.failure = Some(format!("no answer within {} s", PATIENCE.as_secs())),
        }
        learnt
    }

    async fn ask(
        &self,
        question: &str,
        missing: &[(u64, String)],
        learnt: &mut EmbeddingBatch,
    ) -> Result<(), String> {
        let question: String = question.chars().take(CHARS).collect();
        learnt.question = self.embed(vec![question]).await?.pop();
        for batch in missing.chunks(BATCH) {
            let vectors = self
                .embed(batch.iter().map(|(_, text)| text.clone()).collect())
                .await?;
            learnt
                .pieces
                .extend(batch.iter().map(|(key, _)| *key).zip(vectors));
        }
        Ok(())
    }

    async fn embed(&self, texts: Vec<String>) -> Result<Vec<Vec<f32>>, String> {
        let count = texts.len();
        let vectors = self.embedder.embed(texts).await?;
        let is_whole = vectors.len() == count && vectors.iter().all(|vector| !vector.is_empty());
        if is_whole {
            Ok(vectors)
        } else {
            Err(format!("{} vectors came for {count} texts", vectors.len()))
        }
    }
}

/// The pieces to learn next, with their texts: those that were found, then the others.
pub(super) fn missing(
    index: &SearchIndex,
    hits: &[ChunkHit],
    wanted: &SearchFilter<'_>,
    vectors: &ChunkVectors,
) -> Vec<(u64, String)> {
    let all = index
        .files
        .iter()
        .enumerate()
        .filter(|(_, entry)| wanted.is_file(entry));
    let all = all.flat_map(|(file, entry)| (0..entry.pieces.len()).map(move |piece| (file, piece)));
    let mut seen = HashSet::new();
    let mut texts: Option<(usize, String)> = None;
    let mut found = Vec::new();
    for (file, at) in hits.iter().map(|hit| (hit.file, hit.piece)).chain(all) {
        let Some((entry, piece)) = index
            .files
            .get(file)
            .and_then(|entry| Some((entry, entry.pieces.get(at)?)))
        else {
            continue;
        };
        if vectors.contains(piece.key) || !seen.insert(piece.key) {
            continue;
        }
        if texts.as_ref().is_none_or(|(known, _)| *known != file) {
            texts = Some((file, index.text(entry)));
        }
        let text = texts.as_ref().map_or("", |(_, text)| text);
        let (first, last) = (piece.first as usize, piece.last as usize);
        let lines: Vec<&str> = text
            .lines()
            .take(last)
            .skip(first.saturating_sub(1))
            .collect();
        found.push((piece.key, lines.join("\n").chars().take(CHARS).collect()));
        if found.len() == LEARNT {
            break;
        }
    }
    found
}

/// One order out of two: what is high in both comes first.
pub(super) fn fuse_rankings(words: &[ChunkHit], meanings: &[ChunkHit]) -> Vec<ChunkHit> {
    let mut scores: HashMap<(usize, usize), f32> = HashMap::new();
    for order in [words, meanings] {
        for (rank, hit) in order.iter().enumerate() {
            *scores.entry((hit.file, hit.piece)).or_default() +=
                1000.0 / (FUSION + 1.0 + rank as f32);
        }
    }
    let mut hits: Vec<ChunkHit> = scores
        .into_iter()
        .map(|((file, piece), score)| ChunkHit { file, piece, score })
        .collect();
    hits.sort_unstable_by(|one, other| {
        other
            .score
            .total_cmp(&one.score)
            .then((one.file, one.piece).cmp(&(other.file, other.piece)))
    });
    hits
}

/// Turns texts into embedding vectors: similar meanings give close vectors.
///
/// Contract: `SemanticSearch` is the only caller. It asks for at most 64 texts at a time, each of
/// at most 2,000 characters, and drops the future when the call is cancelled or takes too long.
/// An answer has one vector for each text, in order, all of the same length. An `Err` is a
/// sentence for the model: the search falls back to keywords alone and says so.
pub trait Embedder: Send + Sync {
    /// Identifies its vectors: provider and model.
    fn name(&self) -> &str;

    /// The vectors of these texts.
    fn embed(&self, texts: Vec<String>) -> BoxFuture<'static, Result<Vec<Vec<f32>>, String>>;
}

//! SemanticSearch: pieces of code and text by what they are about, offline.
//!
//! The words of a question are looked up in an index of the working directory: identifiers split,
//! forms of a word brought together, pieces ordered by BM25 (`rank.rs`) and a closer look
//! (`look.rs`). With an [`Embedder`] a second order by meaning is fused in (`meaning.rs`).
//!
//! There is one index per root. The root is the working directory, or, for a path outside it, that
//! path: what is read is never more than what the policy judged. It is refreshed by every search.

mod answer;
mod chunk;
mod definition;
mod embedder;
mod entry;
mod index;
mod look;
mod meaning;
mod query;
mod rank;
mod request;
mod shelf;
mod stem;
mod stored;
mod survey;
mod synonyms;
mod vectors;
mod words;

use std::{
    path::PathBuf,
    sync::{Arc, PoisonError},
};

use futures::future::BoxFuture;
use rooftree_protocol::{Effect, ErrorCode, ToolKind, ToolSpec};
use serde_json::Value;

use crate::{
    Tool, ToolContext, ToolOutput,
    arguments::{self, Argument, Kind, text},
    blocking,
};
use answer::Answer;
pub use embedder::Embedder;
use index::Index;
use look::{Order, look};
use meaning::{Learnt, Meaning};
use rank::{Hit, Ranked, rank};
use request::Request;
use shelf::Shelf;

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

/// Pieces that get a closer look.
const CANDIDATES: usize = 60;

/// The SemanticSearch tool.
pub struct SemanticSearch {
    spec: ToolSpec,
    search: Arc<Search>,
}

struct Search {
    shelf: Shelf,
    meaning: Option<Meaning>,
}

impl SemanticSearch {
    /// A search that keeps its indexes in a directory of their own; none: only in memory.
    pub fn new(cache_directory: Option<PathBuf>) -> Self {
        let spec = arguments::spec("SemanticSearch", DESCRIPTION, &ARGUMENTS);
        Self { spec, search: Arc::new(Search { shelf: Shelf::new(cache_directory), meaning: None }) }
    }

    /// A search that knows meanings too.
    pub fn with_embedder(cache_directory: Option<PathBuf>, embedder: Arc<dyn Embedder>) -> Self {
        let search = Search { shelf: Shelf::new(cache_directory), meaning: Some(Meaning::new(embedder)) };
        Self { search: Arc::new(search), ..Self::new(None) }
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

/// What the words alone found.
struct ByWords {
    request: Request,
    index: Arc<Index>,
    ranked: Ranked,
}

impl Search {
    async fn run(self: Arc<Self>, input: Value, context: ToolContext) -> ToolOutput {
        let search = self.clone();
        if self.meaning.is_none() {
            return blocking::run(move || {
                let by_words = search.by_words(&input, &context)?;
                Ok(by_words.answer(&by_words.ranked, Order::ByLook, Vec::new()))
            })
            .await;
        }
        match self.with_meaning(input, context).await {
            Ok(output) => output,
            Err(words) => ToolOutput::failed(ErrorCode::ToolFailed, words),
        }
    }

    fn by_words(&self, input: &Value, context: &ToolContext) -> Result<ByWords, String> {
        let request = Request::new(input, context)?;
        let index = self.shelf.index(&request.root, &context.cancel, &context.progress);
        let index = index.ok_or("[cancelled]")?;
        let ranked = rank(&index, &request.query, &request.wanted(), CANDIDATES);
        Ok(ByWords { request, index, ranked })
    }

    /// The same in three steps, because in the middle one somebody else is asked.
    async fn with_meaning(self: Arc<Self>, input: Value, context: ToolContext) -> Result<ToolOutput, String> {
        let search = self.clone();
        let (by_words, missing) = off_thread(move || {
            let by_words = search.by_words(&input, &context)?;
            let missing = search.missing(&by_words);
            Ok((by_words, missing))
        })
        .await?;
        let Some(meaning) = &self.meaning else { return Err("There is no embedder.".to_owned()) };
        let learnt = meaning.learn(&by_words.request.text, missing).await;
        off_thread(move || Ok(self.fuse(&by_words, learnt))).await
    }

    fn vectors(&self, by_words: &ByWords) -> Option<Arc<std::sync::Mutex<vectors::Vectors>>> {
        let root = &by_words.index.root;
        Some(self.meaning.as_ref()?.vectors(root, self.shelf.place(root, "vectors").as_deref()))
    }

    fn missing(&self, by_words: &ByWords) -> Vec<(u64, String)> {
        let Some(vectors) = self.vectors(by_words) else { return Vec::new() };
        let mut vectors = vectors.lock().unwrap_or_else(PoisonError::into_inner);
        vectors.make_room(&by_words.index);
        if vectors.is_full() {
            return Vec::new();
        }
        meaning::missing(&by_words.index, &by_words.ranked.hits, &by_words.request.wanted(), &vectors)
    }

    fn fuse(&self, by_words: &ByWords, learnt: Learnt) -> ToolOutput {
        let mut notices: Vec<String> = learnt
            .failure
            .iter()
            .map(|failure| format!("without all meanings, because the embedder failed: {failure}"))
            .collect();
        let (Some(vectors), Some(question)) = (self.vectors(by_words), learnt.question) else {
            return by_words.answer(&by_words.ranked, Order::ByLook, notices);
        };
        let mut vectors = vectors.lock().unwrap_or_else(PoisonError::into_inner);
        let is_changed = !learnt.pieces.is_empty();
        learnt.pieces.iter().for_each(|(key, vector)| vectors.insert(*key, vector));
        if let (true, Some(meaning), Some(place)) =
            (is_changed, &self.meaning, self.shelf.place(&by_words.index.root, "vectors"))
        {
            // Without it the vectors are asked for again some day.
            let _ = vectors.save(&place, meaning.name());
        }
        let (some, all) = vectors.covered(&by_words.index);
        if some < all {
            notices.push(format!("the meaning of {some} of {all} pieces is known; each search learns more"));
        }
        let meanings = vectors.closest(&by_words.index, &question, &by_words.request.wanted(), CANDIDATES);
        let looked_at = by_words.look(&by_words.ranked, Order::ByLook, CANDIDATES);
        let words: Vec<Hit> = looked_at.iter().map(|found| found.hit).collect();
        let hits = meaning::fused(&words, &meanings);
        let Ranked { rarities, unknown, .. } = &by_words.ranked;
        let ranked = Ranked { hits, rarities: rarities.clone(), unknown: unknown.clone() };
        by_words.answer(&ranked, Order::Kept, notices)
    }
}

impl ByWords {
    fn look(&self, ranked: &Ranked, order: Order, most: usize) -> Vec<look::Found> {
        look(&self.index, &self.request.query, ranked, order, most)
    }

    fn answer(&self, ranked: &Ranked, order: Order, notices: Vec<String>) -> ToolOutput {
        let found = self.look(ranked, order, self.request.limit);
        let Request { query, text, cwd, .. } = &self.request;
        let answer = Answer { index: &self.index, query, found: &found, unknown: &ranked.unknown, notices };
        ToolOutput::done(answer.text(text, cwd))
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

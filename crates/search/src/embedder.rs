//! The trait of an embedding model, an optional part of SemanticSearch.

use futures::future::BoxFuture;

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

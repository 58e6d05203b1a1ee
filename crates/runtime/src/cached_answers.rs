//! Cache of answers of read-only agents, for the same question about the same files.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use rooftree_protocol::{
    BlobId,
    event::{RunEnd, TaskNote},
};

/// Answers that are kept; when there are more, all are forgotten.
const MOST: usize = 256;

/// The answers this process knows.
#[derive(Default)]
pub(crate) struct AnswerCache(Mutex<HashMap<String, CachedAnswer>>);

/// An answer and the state of the files it was given about.
#[derive(Clone)]
pub(crate) struct CachedAnswer {
    pub(crate) files: BlobId,
    pub(crate) note: TaskNote,
    pub(crate) end: Arc<RunEnd>,
}

impl AnswerCache {
    /// The cached answer to this question; the caller checks whether it is still valid.
    pub(crate) fn find(&self, question: &str) -> Option<CachedAnswer> {
        self.lock().get(question).cloned()
    }

    pub(crate) fn keep(&self, question: String, kept: CachedAnswer) {
        let mut answers = self.lock();
        if answers.len() >= MOST {
            answers.clear();
        }
        answers.insert(question, kept);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, CachedAnswer>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

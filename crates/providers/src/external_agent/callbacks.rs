//! Registry of callback answers: which are awaited, which have arrived, which are duplicates.
//!
//! Kept in memory only. An answer that arrived but was not yet in the journal when the process died is
//! requested again with the same idempotency key, and the agent has to repeat it.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use futures::future::BoxFuture;
use rooftree_protocol::Problem;
use tokio::sync::watch;

use super::{
    callback_token::{CallbackKey, CallbackSigner},
    events::{BODY_BYTES, ExternalReplyPiece},
};

/// Maximum bytes of all pieces of one answer.
const ANSWER_BYTES: usize = 8 * BODY_BYTES;
/// Maximum pieces of one answer.
const PIECES: usize = 1000;
/// Maximum number of buffered answers without a listener: for answers that come before we listen, and to
/// detect duplicates.
const KEPT: usize = 64;

/// Makes sure that callbacks are received, and returns their base URL. Its argument is the base URL
/// configured for the agent, if there is one.
pub type CallbackBaseUrlFn =
    Arc<dyn Fn(Option<String>) -> BoxFuture<'static, Result<String, Problem>> + Send + Sync>;

/// A received callback.
#[derive(Clone, Copy, Debug)]
pub struct AgentCallback<'a> {
    /// The last segment of its URL.
    pub token: &'a str,
    /// The sender's message id, if it is given outside of the body.
    pub message: Option<&'a str>,
    /// The body.
    pub body: &'a [u8],
}

/// The result of delivering a callback.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallbackReceipt {
    /// Accepted.
    Taken,
    /// A duplicate of an accepted one.
    Repeated,
    /// The answer is already complete.
    Over,
    /// The token is invalid, or the body names another session.
    Unknown,
    /// The body, or the answer it belongs to, is too large.
    TooLarge,
    /// Neither an answer nor text.
    Unreadable,
}

/// Receives callback answers. Clones share the state.
#[derive(Clone)]
pub struct CallbackRegistry(Arc<CallbackState>);

struct CallbackState {
    signer: CallbackSigner,
    door: CallbackBaseUrlFn,
    boxes: Mutex<PendingAnswers>,
}

#[derive(Default)]
struct PendingAnswers {
    by_question: BTreeMap<CallbackKey, PendingAnswer>,
    opened: u64,
}

struct PendingAnswer {
    /// Sequence number, by the order of creation.
    number: u64,
    answer: watch::Sender<PartialAnswer>,
}

/// The pieces of an answer received so far.
#[derive(Default)]
struct PartialAnswer {
    pieces: Vec<ExternalReplyPiece>,
    bytes: usize,
    names: BTreeSet<String>,
    is_complete: bool,
    /// Whether the listener has read all of it.
    is_read: bool,
}

impl CallbackRegistry {
    /// Creates a registry whose tokens are signed with this secret.
    pub fn new(secret: &str, door: CallbackBaseUrlFn) -> Self {
        Self(Arc::new(CallbackState {
            signer: CallbackSigner::new(secret.as_bytes()),
            door,
            boxes: Mutex::default(),
        }))
    }

    /// Delivers a callback.
    pub fn deliver(&self, callback: AgentCallback<'_>) -> CallbackReceipt {
        let Some(question) = self.0.signer.question(callback.token) else {
            return CallbackReceipt::Unknown;
        };
        if callback.body.len() > BODY_BYTES {
            return CallbackReceipt::TooLarge;
        }
        let Some(said) = ExternalReplyPiece::read(callback.body) else {
            return CallbackReceipt::Unreadable;
        };
        if said
            .session
            .as_ref()
            .is_some_and(|session| session != question.session.as_str())
        {
            return CallbackReceipt::Unknown;
        }
        let name = callback
            .message
            .map_or_else(|| said.name(callback.body), str::to_owned);
        self.put(question, said, name)
    }

    /// The callback URL for a request.
    pub(super) async fn url(
        &self,
        question: &CallbackKey,
        base: Option<String>,
    ) -> Result<String, Problem> {
        let base = (self.0.door)(base).await?;
        Ok(format!(
            "{}/callbacks/{}",
            base.trim_end_matches('/'),
            self.0.signer.token(question)
        ))
    }

    /// Subscribes to an answer. Pieces received earlier count, unless they were read to the end:
    /// then this is a new request with the same content.
    pub(super) fn listen(&self, question: &CallbackKey) -> AnswerListener {
        let mut boxes = self.boxes();
        boxes
            .by_question
            .retain(|known, letterbox| known != question || !letterbox.answer.borrow().is_read);
        boxes.evict_idle();
        let heard = boxes.of(question).answer.subscribe();
        AnswerListener {
            callbacks: self.clone(),
            question: question.clone(),
            heard,
            next: 0,
        }
    }

    pub(super) fn put(
        &self,
        question: CallbackKey,
        said: ExternalReplyPiece,
        name: String,
    ) -> CallbackReceipt {
        let mut boxes = self.boxes();
        let mut receipt = CallbackReceipt::Taken;
        boxes.of(&question).answer.send_if_modified(|answer| {
            receipt = answer.take(said, name);
            receipt == CallbackReceipt::Taken
        });
        boxes.evict_idle();
        receipt
    }

    fn boxes(&self) -> MutexGuard<'_, PendingAnswers> {
        self.0.boxes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PendingAnswers {
    fn of(&mut self, question: &CallbackKey) -> &PendingAnswer {
        self.opened += 1;
        let number = self.opened;
        let open = || PendingAnswer {
            number,
            answer: watch::Sender::default(),
        };
        self.by_question
            .entry(question.clone())
            .or_insert_with(open)
    }

    /// Evicts the oldest answers that have no listener.
    fn evict_idle(&mut self) {
        let idle = self
            .by_question
            .values()
            .filter(|letterbox| letterbox.answer.receiver_count() == 0);
        let mut numbers: Vec<u64> = idle.map(|letterbox| letterbox.number).collect();
        numbers.sort_unstable();
        numbers.truncate(numbers.len().saturating_sub(KEPT));
        self.by_question
            .retain(|_, letterbox| numbers.binary_search(&letterbox.number).is_err());
    }
}

impl PartialAnswer {
    fn take(&mut self, said: ExternalReplyPiece, name: String) -> CallbackReceipt {
        if self.names.contains(&name) {
            return CallbackReceipt::Repeated;
        }
        if self.is_complete {
            return CallbackReceipt::Over;
        }
        let bytes = self.bytes + said.text.len();
        if bytes > ANSWER_BYTES || self.pieces.len() >= PIECES {
            return CallbackReceipt::TooLarge;
        }
        self.bytes = bytes;
        self.names.insert(name);
        self.is_complete = said.is_last();
        self.pieces.push(said);
        CallbackReceipt::Taken
    }
}

/// Receives the pieces of one answer, in the order in which they arrived.
pub(super) struct AnswerListener {
    callbacks: CallbackRegistry,
    question: CallbackKey,
    heard: watch::Receiver<PartialAnswer>,
    next: usize,
}

impl AnswerListener {
    /// Whether the answer is complete.
    pub(super) fn is_complete(&self) -> bool {
        self.heard.borrow().is_complete
    }

    /// The next piece. Nothing follows one that [is the last](ExternalReplyPiece::is_last).
    pub(super) async fn next(&mut self) -> ExternalReplyPiece {
        loop {
            let piece = self
                .heard
                .borrow_and_update()
                .pieces
                .get(self.next)
                .cloned();
            if let Some(piece) = piece {
                self.next += 1;
                if piece.is_last() {
                    self.mark_read();
                }
                return piece;
            }
            if self.heard.changed().await.is_err() {
                // The sender is kept as long as it has a listener.
                std::future::pending::<()>().await;
            }
        }
    }

    /// Marks the answer as read: drops its pieces, keeps their ids to detect duplicates.
    fn mark_read(&self) {
        if let Some(letterbox) = self.callbacks.boxes().by_question.get(&self.question) {
            letterbox.answer.send_modify(|answer| {
                answer.pieces = Vec::new();
                answer.is_read = true;
            });
        }
    }
}

//! Debounce: joins several messages of one sender in one chat into one before they reach the inbox.

use std::time::Duration;

use rooftree_connectors::Inbound;
use rooftree_protocol::{Part, Timestamp};

/// Messages that are joined at most.
const MOST: usize = 20;
/// How much longer than one pause the first message waits at most.
const LONGEST: u32 = 6;

/// A message that waits to be joined with others, with its files already stored.
#[derive(Debug)]
pub(super) struct DebouncedMessage {
    pub(super) inbound: Inbound,
    pub(super) parts: Vec<Part>,
}

/// Messages of one sender in one chat.
#[derive(Debug)]
pub(super) struct MessageBatch {
    key: String,
    sender: String,
    since: Timestamp,
    due: Timestamp,
    pub(super) messages: Vec<DebouncedMessage>,
}

/// What waits, in the order in which it began to.
#[derive(Debug)]
pub(super) struct Debouncer {
    pause: Duration,
    batches: Vec<MessageBatch>,
}

impl Debouncer {
    pub(super) fn new(pause: Duration) -> Self {
        Self {
            pause,
            batches: Vec::new(),
        }
    }

    /// Lets a message wait. In a group the messages of two people are not joined, though they share a session.
    pub(super) fn add(&mut self, key: &str, message: DebouncedMessage, now: Timestamp) {
        let sender = message.inbound.from.id.clone();
        let place = message.inbound.place.clone();
        let found = self.batches.iter_mut().find(|batch| {
            batch.key == key && batch.sender == sender && batch.messages.len() < MOST
        });
        let due = now.after(self.pause);
        match found {
            Some(batch) if batch.is_in(&place) => {
                batch.due = due.min(batch.since.after(self.pause * LONGEST));
                batch.messages.push(message);
            }
            _ => self.batches.push(MessageBatch {
                key: key.to_owned(),
                sender,
                since: now,
                due,
                messages: vec![message],
            }),
        }
    }

    /// When the next batch is due.
    pub(super) fn next_due(&self) -> Option<Timestamp> {
        self.batches.iter().map(|batch| batch.due).min()
    }

    /// A batch that is due. Invariant: batches of one session leave in the order in which they began.
    pub(super) fn take_due(&mut self, now: Timestamp) -> Option<MessageBatch> {
        let due = self.batches.iter().find(|batch| batch.due <= now)?;
        let key = due.key.clone();
        self.take_of(&key)
    }

    /// Lets a batch wait again that could not be posted.
    pub(super) fn put_back(&mut self, batch: MessageBatch) {
        self.batches.insert(0, batch);
    }

    /// The first batch of a session, due or not: what is said next must not overtake it.
    pub(super) fn take_of(&mut self, key: &str) -> Option<MessageBatch> {
        let at = self.batches.iter().position(|batch| batch.key == key)?;
        Some(self.batches.remove(at))
    }
}

impl MessageBatch {
    fn is_in(&self, place: &rooftree_connectors::ChatPlace) -> bool {
        let first = self.messages.first();
        first.is_some_and(|first| {
            let known = &first.inbound.place;
            (&known.chat, &known.thread) == (&place.chat, &place.thread)
        })
    }
}

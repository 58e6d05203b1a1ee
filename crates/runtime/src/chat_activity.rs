//! Runs at work for a chat, kept for status lines and typing signs, and the signal that the outbox has something new.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use rooftree_protocol::{Account, ChatTarget, RunId, SessionId, Timestamp};
use tokio::sync::watch;

/// A run at work whose answer goes to a chat.
#[derive(Clone, Debug, PartialEq)]
pub struct ChatWork {
    /// Which run.
    pub run: RunId,
    /// Its session.
    pub session: SessionId,
    /// Whose it is.
    pub account: Account,
    /// Where its answer goes.
    pub target: ChatTarget,
    /// Since when it works.
    pub since: Timestamp,
    /// How many tool calls have ended.
    pub calls: u32,
    /// Whether it waits for a person, who was told so.
    pub waits_for_person: bool,
}

/// What chats are told besides answers: who is at work for them, and when there is something to deliver.
pub(crate) struct ChatActivity {
    working: Mutex<HashMap<RunId, ChatWork>>,
    posted: watch::Sender<u64>,
    changed: watch::Sender<u64>,
}

impl Default for ChatActivity {
    fn default() -> Self {
        Self {
            working: Mutex::default(),
            posted: watch::channel(0).0,
            changed: watch::channel(0).0,
        }
    }
}

impl ChatActivity {
    /// Notes that a run works for a chat.
    pub(crate) fn begin(&self, work: ChatWork) {
        let mut working = self.working.lock().unwrap_or_else(PoisonError::into_inner);
        working.insert(work.run.clone(), work);
    }

    /// Notes that a run works no more.
    pub(crate) fn end(&self, run: &RunId) {
        let mut working = self.working.lock().unwrap_or_else(PoisonError::into_inner);
        working.remove(run);
    }

    /// All runs at work for a chat.
    pub(crate) fn working(&self) -> Vec<ChatWork> {
        let working = self.working.lock().unwrap_or_else(PoisonError::into_inner);
        working.values().cloned().collect()
    }

    /// Says that a message was put into the outbox and is stored.
    pub(crate) fn note_posted(&self) {
        self.posted.send_modify(|count| *count += 1);
        self.note_change();
    }

    /// Says that a connector, its people or the delivery of a message changed, and it is stored.
    pub(crate) fn note_change(&self) {
        self.changed.send_modify(|count| *count += 1);
    }

    /// Fires when this process has changed connectors, their people or the outbox.
    pub(crate) fn changed(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    /// Fires when this process has put a message into the outbox.
    pub(crate) fn posted(&self) -> watch::Receiver<u64> {
        self.posted.subscribe()
    }
}

//! The requests that a chat was shown last, so that `/approve 2` means what the sender saw as number 2.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

/// Senders whose lists are kept; then all are forgotten and shown again.
const MOST: usize = 256;

/// Lists of inquiry ids by sender.
#[derive(Debug, Default)]
pub(super) struct ListedRequests(Mutex<HashMap<String, Vec<String>>>);

impl ListedRequests {
    /// A sender was shown this list.
    pub(super) fn keep(&self, sender: &str, ids: Vec<String>) {
        let mut lists = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if lists.len() >= MOST {
            lists.clear();
        }
        lists.insert(sender.to_owned(), ids);
    }

    /// What he saw under a number, from 1.
    pub(super) fn find(&self, sender: &str, number: usize) -> Option<String> {
        let lists = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lists.get(sender)?.get(number.checked_sub(1)?).cloned()
    }
}

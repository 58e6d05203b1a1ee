//! Queue of notices about servers that were not shown yet; the next caller of `take` shows them.

use std::sync::{Mutex, PoisonError};

use super::Notice;

/// Notices that wait to be shown, and those that were.
#[derive(Default)]
pub(super) struct PendingNotices(Mutex<NoticeQueue>);

#[derive(Default)]
struct NoticeQueue {
    waiting: Vec<Notice>,
    told: Vec<Notice>,
}

impl PendingNotices {
    /// Queues a notice, unless it was already queued or shown.
    pub(super) fn add(&self, notice: Notice) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !kept.told.contains(&notice) && !kept.waiting.contains(&notice) {
            kept.waiting.push(notice);
        }
    }

    /// Takes all waiting notices. The caller must show them.
    pub(super) fn take(&self) -> Vec<Notice> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let waiting = std::mem::take(&mut kept.waiting);
        kept.told.extend(waiting.iter().cloned());
        waiting
    }
}

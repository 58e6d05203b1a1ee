//! What people should know about servers and have not been told yet: whoever looks next tells them.

use std::sync::{Mutex, PoisonError};

use super::Notice;

/// Notices that wait to be told, and those that were.
#[derive(Default)]
pub(super) struct PendingNotices(Mutex<NoticeQueue>);

#[derive(Default)]
struct NoticeQueue {
    waiting: Vec<Notice>,
    told: Vec<Notice>,
}

impl PendingNotices {
    /// To be told, if it has not been.
    pub(super) fn add(&self, notice: Notice) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !kept.told.contains(&notice) && !kept.waiting.contains(&notice) {
            kept.waiting.push(notice);
        }
    }

    /// Everything that is to be told. Whoever takes it tells it.
    pub(super) fn take(&self) -> Vec<Notice> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let waiting = std::mem::take(&mut kept.waiting);
        kept.told.extend(waiting.iter().cloned());
        waiting
    }
}

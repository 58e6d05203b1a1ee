//! Compaction of a history: cleared, restarted, summarized or truncated.

use std::sync::Arc;

use rooftree_protocol::{
    Part,
    event::{Compaction, CompactionKind},
};
use rooftree_providers::ModelMessage;

use super::{History, INTERRUPTED, trimmed};
use crate::agent::message_text;

impl History {
    pub(super) fn clear(&mut self) {
        *self = Self {
            run: self.run.take(),
            taken: self.taken,
            reply_at: self.reply_at,
            tasks: std::mem::take(&mut self.tasks),
            mode: self.mode,
            mark: self.mark.clone(),
            ..Self::default()
        };
    }

    /// Forgets everything but the last request.
    pub(super) fn start_over(&mut self) {
        let (request, shrunk) = (self.conversation.request.clone(), self.shrunk + 1);
        self.clear();
        self.shrunk = shrunk;
        if let Some(request) = request {
            // An image may be what did not fit.
            let request = Arc::new(trimmed(&request, usize::MAX));
            self.conversation.request = Some(request.clone());
            self.push_shared(request);
        }
    }

    pub(in crate::agent) fn shrink(&mut self, compaction: &Compaction) {
        self.close_open(INTERRUPTED);
        let kept = usize::try_from(compaction.kept)
            .unwrap_or(usize::MAX)
            .min(self.conversation.messages.len());
        let mut older = Arc::unwrap_or_clone(std::mem::take(&mut self.conversation.messages));
        let tail = older.split_off(older.len() - kept);
        (self.conversation.estimate, self.conversation.images) = (0, Vec::new());
        match &compaction.how {
            CompactionKind::Summary { summary } => {
                // The summary need not say it: it is told again.
                self.conversation.surroundings = None;
                self.push(ModelMessage::User(vec![Part::text(message_text::plain(
                    summary, &self.mark,
                ))]));
            }
            CompactionKind::Trimmed { chars } => older
                .iter()
                .for_each(|message| self.push(trimmed(message, *chars))),
        }
        tail.into_iter()
            .for_each(|message| self.push_shared(message));
        // Counted for the question it makes room for.
        if let Some(run) = &mut self.run {
            self.shrunk += 1;
            run.progress.usage += compaction.usage;
        }
    }
}

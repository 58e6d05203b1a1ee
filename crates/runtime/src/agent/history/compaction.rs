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
        let (run, taken, reply_at) = (self.run.take(), self.taken, self.reply_at);
        let (tasks, told) = (
            std::mem::take(&mut self.tasks),
            std::mem::take(&mut self.told),
        );
        let task_mandates = std::mem::take(&mut self.task_mandates);
        let (heard, mode, mark) = (
            std::mem::take(&mut self.heard),
            self.mode,
            self.mark.clone(),
        );
        *self = Self {
            run,
            taken,
            reply_at,
            tasks,
            task_mandates,
            told,
            heard,
            mode,
            mark,
            ..Self::default()
        };
    }

    /// Forgets everything but the last request.
    pub(super) fn start_over(&mut self) {
        let (request, shrunk) = (self.request.clone(), self.shrunk + 1);
        self.clear();
        self.shrunk = shrunk;
        if let Some(request) = request {
            // An image may be what did not fit.
            let request = Arc::new(trimmed(&request, usize::MAX));
            self.request = Some(request.clone());
            self.push_shared(request);
        }
    }

    pub(in crate::agent) fn shrink(&mut self, compaction: &Compaction) {
        self.close_open(INTERRUPTED);
        let kept = usize::try_from(compaction.kept)
            .unwrap_or(usize::MAX)
            .min(self.messages.len());
        let mut older = Arc::unwrap_or_clone(std::mem::take(&mut self.messages));
        let tail = older.split_off(older.len() - kept);
        (self.estimate, self.images) = (0, Vec::new());
        match &compaction.how {
            CompactionKind::Summary { summary } => self.push(ModelMessage::User(vec![Part::text(
                message_text::plain(summary, &self.mark),
            )])),
            CompactionKind::Trimmed { chars } => older
                .iter()
                .for_each(|message| self.push(trimmed(message, *chars))),
        }
        tail.into_iter()
            .for_each(|message| self.push_shared(message));
        self.shrunk += 1;
        if let Some(run) = &mut self.run {
            run.usage += compaction.usage;
        }
    }
}

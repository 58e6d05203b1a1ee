//! Applies an event to a run: text and deltas, calls, waits, verdicts, its end.

use rooftree_protocol::{
    Event, EventBody, Timestamp, Usage,
    event::{AnswerText, ReplyPlace, ReplyRecord, RunEnd, StopReason, ToolRecord, WaitReason},
};

use crate::{
    DraftText, TreeChange, TreeRun,
    run_parts::{
        FINISHED_CALLS, NOTICES, ReportedEnd, RunActivity, RunPhase, TreeCall, TreeNotice,
        TreeWait, WAITS, push_bounded,
    },
};

impl TreeRun {
    pub(crate) fn apply(&mut self, event: &Event) -> TreeChange {
        let is_delta = matches!(
            event.body,
            EventBody::MessageDelta { .. } | EventBody::ThinkingDelta { .. }
        );
        if is_delta && (self.reply.is_reply_whole || self.has_ended()) {
            return TreeChange::Nothing;
        }
        self.updated_at = event.ts;
        if event.body.is_durable() {
            self.reply.is_reply_whole = false;
        }
        match &event.body {
            EventBody::RunStarted { .. } => return self.begin(event),
            EventBody::RunCompleted(end) => return self.complete(event, end),
            EventBody::MessageCompleted(reply) => self.apply_reply(reply),
            EventBody::MessageDelta { text, place } => {
                self.reply.add_piece(text, place.as_ref());
                self.activity = RunActivity::Answering;
            }
            EventBody::ThinkingDelta { .. } => self.activity = RunActivity::Thinking,
            EventBody::ContextUsage { reading, .. } => self.apply_reading(*reading),
            EventBody::RunWaiting { .. } => self.wait(event),
            EventBody::RunResumed { .. } => {
                self.close_wait(event.ts);
                self.set_phase(RunPhase::Working);
                self.activity = RunActivity::Thinking;
            }
            EventBody::RunVerified(verdict) => self.log.verdict = Some(Box::new(verdict.clone())),
            EventBody::PermissionRequested { tool, title, .. } => {
                let (tool, title) = (tool.clone(), title.clone());
                self.activity = RunActivity::Asking { tool, title };
            }
            EventBody::Notice { code, .. } => {
                if code == "fallback" {
                    self.reply.clear_streamed();
                }
                push_bounded(&mut self.log.notices, TreeNotice::of(event), NOTICES);
            }
            _ => self.apply_call(event),
        }
        TreeChange::Updated
    }

    /// Takes in what a model has written so far.
    pub(crate) fn apply_draft(&mut self, draft: &DraftText) {
        if self.has_ended() {
            return;
        }
        self.reply.is_reply_whole = false;
        let place = ReplyPlace {
            message: draft.id.clone(),
            at: 0,
        };
        self.reply.add_piece(&draft.text, Some(&place));
        self.activity = if draft.text.is_empty() {
            RunActivity::Thinking
        } else {
            RunActivity::Answering
        };
    }

    fn begin(&mut self, event: &Event) -> TreeChange {
        let EventBody::RunStarted {
            mode,
            message,
            model,
            title,
            parent,
            ..
        } = &event.body
        else {
            return TreeChange::Nothing;
        };
        (self.origin.mode, self.origin.message) = (Some(*mode), Some(message.clone()));
        self.started_at = event.ts;
        self.origin.first_model.clone_from(model);
        self.model.clone_from(model);
        self.origin.title.clone_from(title);
        self.origin.parent = parent.clone().or(self.origin.parent.take());
        self.origin.parent_run = event.parent_run.clone().or(self.origin.parent_run.take());
        self.set_phase(RunPhase::Working);
        TreeChange::Began
    }

    fn complete(&mut self, event: &Event, end: &RunEnd) -> TreeChange {
        self.close_wait(event.ts);
        let is_news = self.end.is_none();
        self.phase = RunPhase::Ended { status: end.status };
        self.end = Some(Box::new(end.clone()));
        self.reply.answer = AnswerText::default();
        self.reply.clear_streamed();
        self.log.running.clear();
        if is_news {
            TreeChange::Ended
        } else {
            TreeChange::Updated
        }
    }

    fn apply_reply(&mut self, reply: &ReplyRecord) {
        self.reply.answer.take(reply);
        self.reply.clear_streamed();
        // Only a reply that the output limit cut is continued without an event in between.
        self.reply.is_reply_whole =
            reply.stop != StopReason::MaxOutput || reply.calls().next().is_some();
        self.counts.turns = self.counts.turns.saturating_add(1);
        self.counts.usage += reply.usage;
        self.model.clone_from(&reply.model);
        *self
            .counts
            .by_model
            .entry(reply.model.clone())
            .or_insert_with(Usage::none) += reply.usage;
    }

    /// A prompt is being read, or the first word of the reply has come.
    fn apply_reading(&mut self, reading: Option<u64>) {
        match (reading, &self.activity) {
            (Some(tokens), _) => self.activity = RunActivity::Reading { tokens },
            (None, RunActivity::Reading { .. }) => self.activity = RunActivity::Thinking,
            (None, _) => {}
        }
    }

    fn wait(&mut self, event: &Event) {
        let EventBody::RunWaiting {
            reason,
            until,
            detail,
            ..
        } = &event.body
        else {
            return;
        };
        self.close_wait(event.ts);
        let wait = TreeWait {
            reason: *reason,
            from: event.ts,
            to: None,
        };
        push_bounded(&mut self.log.waits, Some(wait), WAITS);
        self.set_phase(RunPhase::Waiting {
            reason: *reason,
            until: *until,
            detail: detail.clone(),
        });
        if matches!(reason, WaitReason::RateLimit | WaitReason::Retry) {
            // What had come of a reply that broke off will come again.
            self.reply.clear_streamed();
        }
        if *reason != WaitReason::Child {
            let detail = detail.clone();
            self.activity = RunActivity::Waiting { detail };
        }
    }

    fn close_wait(&mut self, at: Timestamp) {
        if let Some(wait) = self.log.waits.back_mut() {
            wait.to.get_or_insert(at);
        }
    }

    fn apply_call(&mut self, event: &Event) {
        match &event.body {
            EventBody::ToolStarted {
                call, tool, title, ..
            } => {
                let (tool, title) = (tool.clone(), title.clone());
                self.activity = RunActivity::Calling { tool, title };
                // A call that is made again after a crash runs once.
                self.log.running.retain(|one| one.call != *call);
                self.log.running.extend(TreeCall::started_by(event));
            }
            EventBody::ToolOutput { call, text } => {
                if let Some(running) = self.log.running.iter_mut().find(|one| one.call == *call) {
                    running.write(text);
                }
            }
            EventBody::ToolCompleted(record) => self.end_call(event, record),
            _ => {}
        }
    }

    fn end_call(&mut self, event: &Event, record: &ToolRecord) {
        let at = self
            .log
            .running
            .iter()
            .position(|one| one.call == record.call);
        let started = at.map(|at| self.log.running.remove(at));
        let ended = TreeCall::ended_by(started, event, record);
        push_bounded(&mut self.log.finished, Some(ended), FINISHED_CALLS);
        self.counts.calls = self.counts.calls.saturating_add(1);
        self.counts.usage += record.usage.unwrap_or_else(Usage::none);
    }

    /// The delegating call tells how it ended, if it does and the run has not said so itself.
    pub(crate) fn report(&mut self, reported: Option<ReportedEnd>) {
        if let Some(reported) = reported.filter(|_| !self.has_ended()) {
            let status = reported.status;
            self.phase = RunPhase::Ended { status };
            self.reported = Some(reported);
        }
    }

    /// A run that has ended stays ended.
    fn set_phase(&mut self, phase: RunPhase) {
        if !self.has_ended() {
            self.phase = phase;
        }
    }
}

//! State of one run, folded from its events: phase, text, calls, waits, usage, end.

use std::collections::{BTreeMap, VecDeque};

use rooftree_protocol::{
    Event, EventBody, MessageId, ParentCall, RunId, RunStatus, SessionId, Timestamp, Usage,
    event::{
        AnswerText, ReplyRecord, RunEnd, RunMode, StopReason, ToolRecord, Verdict, WaitReason,
    },
};
use serde::{Deserialize, Serialize};

use crate::{
    TreeChange,
    run_parts::{
        FINISHED_CALLS, NOTICES, ReportedEnd, RunActivity, RunPhase, TreeCall, TreeNotice,
        TreeWait, WAITS, push_bounded,
    },
};

/// One run of a tree.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TreeRun {
    /// Which one.
    pub run: RunId,
    /// In which session.
    pub session: SessionId,
    /// Its definition.
    pub agent: String,
    /// The run that it works for.
    pub parent_run: Option<RunId>,
    /// The call that delegated it, if that was seen.
    pub parent: Option<ParentCall>,
    /// What started it; none until it has begun.
    pub mode: Option<RunMode>,
    /// The message it answers.
    pub message: Option<MessageId>,
    /// What it was asked, in short.
    pub title: String,
    /// The model it began with.
    pub first_model: String,
    /// The model that answered last.
    pub model: String,
    /// Its state.
    pub phase: RunPhase,
    /// What it did last.
    pub activity: RunActivity,
    /// The answer so far, from whole replies. Empty after the end, which has it.
    pub answer: AnswerText,
    /// Text of the reply that is coming.
    pub streamed: String,
    /// Whether the last reply is whole: deltas that come before the next durable event are part of it, and ignored.
    pub is_reply_whole: bool,
    /// Replies that were seen.
    pub turns: u32,
    /// Ended calls that were seen.
    pub calls: u32,
    /// What replies and calls that were seen used.
    pub usage: Usage,
    /// What its replies used, by model.
    pub by_model: BTreeMap<String, Usage>,
    /// Calls that run, oldest first.
    pub running: Vec<TreeCall>,
    /// The last calls that ended, oldest first.
    pub finished: VecDeque<TreeCall>,
    /// When it waited, oldest first.
    pub waits: VecDeque<TreeWait>,
    /// What its verifiers found last.
    pub verdict: Option<Box<Verdict>>,
    /// Its last notices.
    pub notices: VecDeque<TreeNotice>,
    /// When it began, or was first heard of.
    pub started_at: Timestamp,
    /// When it was last heard of.
    pub updated_at: Timestamp,
    /// Its end as the delegating call told it, which may be known before the run's own.
    pub reported: Option<ReportedEnd>,
    /// Its end.
    pub end: Option<Box<RunEnd>>,
}

impl TreeRun {
    /// A run that was first heard of by this event.
    pub(crate) fn new(event: &Event, run: &RunId) -> Self {
        Self {
            run: run.clone(),
            session: event.session.clone(),
            agent: event.agent.clone(),
            parent_run: event.parent_run.clone(),
            parent: None,
            mode: None,
            message: None,
            title: String::new(),
            first_model: String::new(),
            model: String::new(),
            phase: RunPhase::Working,
            activity: RunActivity::Starting,
            answer: AnswerText::default(),
            streamed: String::new(),
            is_reply_whole: false,
            turns: 0,
            calls: 0,
            usage: Usage::none(),
            by_model: BTreeMap::new(),
            running: Vec::new(),
            finished: VecDeque::new(),
            waits: VecDeque::new(),
            verdict: None,
            notices: VecDeque::new(),
            started_at: event.ts,
            updated_at: event.ts,
            reported: None,
            end: None,
        }
    }

    /// What started it. Until that is known, it counts as background: no run was seen to wait for it.
    pub fn mode(&self) -> RunMode {
        self.mode.unwrap_or(RunMode::Background)
    }

    /// How it ended, if it has.
    pub fn status(&self) -> Option<RunStatus> {
        match self.phase {
            RunPhase::Ended { status } => Some(status),
            _ => None,
        }
    }

    /// Whether it has ended.
    pub fn has_ended(&self) -> bool {
        self.status().is_some()
    }

    /// Whether its work was checked, and found good.
    pub fn verified(&self) -> Option<bool> {
        match (&self.end, &self.reported) {
            (Some(end), _) => end.verified,
            (None, Some(reported)) => reported.verified,
            (None, None) => None,
        }
    }

    /// Model replies: as its end says, else those that were seen.
    pub fn total_turns(&self) -> u32 {
        self.end.as_ref().map_or(self.turns, |end| end.turns)
    }

    /// Tool calls: as its end says, else those that were seen.
    pub fn total_calls(&self) -> u32 {
        self.end.as_ref().map_or(self.calls, |end| end.calls)
    }

    /// What it used itself: as its end says, or the call that reports it, else what was seen.
    pub fn own_usage(&self) -> Usage {
        let reported = self.reported.as_ref().and_then(|reported| reported.usage);
        self.end
            .as_ref()
            .map_or_else(|| reported.unwrap_or(self.usage), |end| end.usage)
    }

    /// How long it took, if it has ended.
    pub fn duration_ms(&self) -> Option<u64> {
        let reported = self.reported.as_ref().map(|reported| reported.duration_ms);
        self.end.as_ref().map(|end| end.duration_ms).or(reported)
    }

    /// The answer: the final one, else that of the last whole reply so far.
    pub fn text(&self) -> &str {
        self.end
            .as_ref()
            .map_or(self.answer.as_str(), |end| end.text.as_str())
    }

    pub(crate) fn apply(&mut self, event: &Event) -> TreeChange {
        let is_delta = matches!(
            event.body,
            EventBody::MessageDelta { .. } | EventBody::ThinkingDelta { .. }
        );
        if is_delta && (self.is_reply_whole || self.has_ended()) {
            return TreeChange::Nothing;
        }
        self.updated_at = event.ts;
        if event.body.is_durable() {
            self.is_reply_whole = false;
        }
        match &event.body {
            EventBody::RunStarted { .. } => return self.begin(event),
            EventBody::RunCompleted(end) => return self.complete(event, end),
            EventBody::MessageCompleted(reply) => self.apply_reply(reply),
            EventBody::MessageDelta { text } => {
                self.streamed.push_str(text);
                self.activity = RunActivity::Answering;
            }
            EventBody::ThinkingDelta { .. } => self.activity = RunActivity::Thinking,
            EventBody::RunWaiting { .. } => self.wait(event),
            EventBody::RunResumed { .. } => {
                self.close_wait(event.ts);
                self.set_phase(RunPhase::Working);
                self.activity = RunActivity::Thinking;
            }
            EventBody::RunVerified(verdict) => self.verdict = Some(Box::new(verdict.clone())),
            EventBody::PermissionRequested { tool, title, .. } => {
                let (tool, title) = (tool.clone(), title.clone());
                self.activity = RunActivity::Asking { tool, title };
            }
            EventBody::Notice { code, .. } => {
                if code == "fallback" {
                    self.streamed.clear();
                }
                push_bounded(&mut self.notices, TreeNotice::of(event), NOTICES);
            }
            _ => self.apply_call(event),
        }
        TreeChange::Updated
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
        (self.mode, self.message) = (Some(*mode), Some(message.clone()));
        self.started_at = event.ts;
        self.first_model.clone_from(model);
        self.model.clone_from(model);
        self.title.clone_from(title);
        self.parent = parent.clone().or(self.parent.take());
        self.parent_run = event.parent_run.clone().or(self.parent_run.take());
        self.set_phase(RunPhase::Working);
        TreeChange::Began
    }

    fn complete(&mut self, event: &Event, end: &RunEnd) -> TreeChange {
        self.close_wait(event.ts);
        let is_news = self.end.is_none();
        self.phase = RunPhase::Ended { status: end.status };
        self.end = Some(Box::new(end.clone()));
        self.answer = AnswerText::default();
        self.streamed.clear();
        self.running.clear();
        if is_news {
            TreeChange::Ended
        } else {
            TreeChange::Updated
        }
    }

    fn apply_reply(&mut self, reply: &ReplyRecord) {
        self.answer.take(reply);
        self.streamed.clear();
        // Only a reply that the output limit cut is continued without an event in between.
        self.is_reply_whole = reply.stop != StopReason::MaxOutput || reply.calls().next().is_some();
        self.turns = self.turns.saturating_add(1);
        self.usage += reply.usage;
        self.model.clone_from(&reply.model);
        *self
            .by_model
            .entry(reply.model.clone())
            .or_insert_with(Usage::none) += reply.usage;
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
        push_bounded(&mut self.waits, Some(wait), WAITS);
        self.set_phase(RunPhase::Waiting {
            reason: *reason,
            until: *until,
            detail: detail.clone(),
        });
        if matches!(reason, WaitReason::RateLimit | WaitReason::Retry) {
            // What had come of a reply that broke off will come again.
            self.streamed.clear();
        }
        if *reason != WaitReason::Child {
            let detail = detail.clone();
            self.activity = RunActivity::Waiting { detail };
        }
    }

    fn close_wait(&mut self, at: Timestamp) {
        if let Some(wait) = self.waits.back_mut() {
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
                self.running.retain(|one| one.call != *call);
                self.running.extend(TreeCall::started_by(event));
            }
            EventBody::ToolOutput { call, text } => {
                if let Some(running) = self.running.iter_mut().find(|one| one.call == *call) {
                    running.write(text);
                }
            }
            EventBody::ToolCompleted(record) => self.end_call(event, record),
            _ => {}
        }
    }

    fn end_call(&mut self, event: &Event, record: &ToolRecord) {
        let at = self.running.iter().position(|one| one.call == record.call);
        let started = at.map(|at| self.running.remove(at));
        let ended = TreeCall::ended_by(started, event, record);
        push_bounded(&mut self.finished, Some(ended), FINISHED_CALLS);
        self.calls = self.calls.saturating_add(1);
        self.usage += record.usage.unwrap_or_else(Usage::none);
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

//! State of one run: phase, text, calls, waits, usage, end.

use std::collections::{BTreeMap, VecDeque};

use rooftree_protocol::{
    Event, MessageId, ParentCall, RunId, RunStatus, SessionId, Timestamp, Usage,
    event::{AnswerText, RunEnd, RunMode, Verdict},
};
use serde::{Deserialize, Serialize};

use crate::run_parts::{ReportedEnd, RunActivity, RunPhase, TreeCall, TreeNotice, TreeWait};

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
}

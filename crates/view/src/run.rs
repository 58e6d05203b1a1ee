//! State of one run: phase, text, calls, waits, usage, end.

use std::collections::{BTreeMap, VecDeque};

use rooftree_protocol::{
    Event, MessageId, ParentCall, RunId, RunStatus, SessionId, Timestamp, Usage,
    event::{AnswerText, ReplyPlace, RunEnd, RunMode, Verdict},
};
use serde::{Deserialize, Serialize};

use crate::run_parts::{ReportedEnd, RunActivity, RunPhase, TreeCall, TreeNotice, TreeWait};

/// One run of a tree. Its parts are flattened in JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TreeRun {
    /// Which one.
    pub run: RunId,
    /// In which session.
    pub session: SessionId,
    /// Its definition.
    pub agent: String,
    /// What started it, and for what.
    #[serde(flatten)]
    pub origin: RunOrigin,
    /// The model that answered last.
    pub model: String,
    /// Its state.
    pub phase: RunPhase,
    /// What it did last.
    pub activity: RunActivity,
    /// Text of its replies.
    #[serde(flatten)]
    pub reply: RunReply,
    /// Counts of what was seen.
    #[serde(flatten)]
    pub counts: RunCounts,
    /// Calls, waits, checks and notices.
    #[serde(flatten)]
    pub log: RunLog,
    /// When it began, or was first heard of.
    pub started_at: Timestamp,
    /// When it was last heard of.
    pub updated_at: Timestamp,
    /// Its end as the delegating call told it, which may be known before the run's own.
    pub reported: Option<ReportedEnd>,
    /// Its end.
    pub end: Option<Box<RunEnd>>,
}

/// What started a run, and for what.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunOrigin {
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
}

/// Text of a run's replies.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunReply {
    /// The answer so far, from whole replies. Empty after the end, which has it.
    pub answer: AnswerText,
    /// Text of the reply that is coming.
    pub streamed: String,
    /// Whether the last reply is whole: deltas that come before the next durable event are part of it, and ignored.
    pub is_reply_whole: bool,
    /// The name of the reply that is coming, if its deltas told it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coming: Option<MessageId>,
}

impl RunReply {
    /// No reply is coming, or another one than before.
    pub(crate) fn clear_streamed(&mut self) {
        self.streamed.clear();
        self.coming = None;
    }

    /// Takes a piece of the reply that is coming. A piece of another reply begins anew: the one before broke off. What is
    /// known of a piece already is not appended again, and a piece after a gap is left out: the whole reply will have it.
    pub(crate) fn add_piece(&mut self, text: &str, place: Option<&ReplyPlace>) {
        let Some(ReplyPlace { message, at }) = place else {
            self.streamed.push_str(text);
            return;
        };
        if self.coming.as_ref() != Some(message) {
            self.streamed.clear();
            self.coming = Some(message.clone());
        }
        let known = (self.streamed.len() as u64).checked_sub(*at);
        let known = known.and_then(|known| usize::try_from(known).ok());
        if let Some(rest) = known.and_then(|known| text.get(known..)) {
            self.streamed.push_str(rest);
        }
    }
}

/// Counts of what was seen of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunCounts {
    /// Replies that were seen.
    pub turns: u32,
    /// Ended calls that were seen.
    pub calls: u32,
    /// What replies and calls that were seen used.
    pub usage: Usage,
    /// What its replies used, by model.
    pub by_model: BTreeMap<String, Usage>,
}

/// Calls, waits, checks and notices of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunLog {
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
}

impl TreeRun {
    /// A run that was first heard of by this event.
    pub(crate) fn new(event: &Event, run: &RunId) -> Self {
        Self {
            run: run.clone(),
            session: event.session.clone(),
            agent: event.agent.clone(),
            origin: RunOrigin {
                parent_run: event.parent_run.clone(),
                ..RunOrigin::default()
            },
            model: String::new(),
            phase: RunPhase::Working,
            activity: RunActivity::Starting,
            reply: RunReply::default(),
            counts: RunCounts {
                turns: 0,
                calls: 0,
                usage: Usage::none(),
                by_model: BTreeMap::new(),
            },
            log: RunLog::default(),
            started_at: event.ts,
            updated_at: event.ts,
            reported: None,
            end: None,
        }
    }

    /// What started it. Until that is known, it counts as background: no run was seen to wait for it.
    pub fn mode(&self) -> RunMode {
        self.origin.mode.unwrap_or(RunMode::Background)
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
        self.end.as_ref().map_or(self.counts.turns, |end| end.turns)
    }

    /// Tool calls: as its end says, else those that were seen.
    pub fn total_calls(&self) -> u32 {
        self.end.as_ref().map_or(self.counts.calls, |end| end.calls)
    }

    /// What it used itself: as its end says, or the call that reports it, else what was seen.
    pub fn own_usage(&self) -> Usage {
        let reported = self.reported.as_ref().and_then(|reported| reported.usage);
        self.end
            .as_ref()
            .map_or_else(|| reported.unwrap_or(self.counts.usage), |end| end.usage)
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
            .map_or(self.reply.answer.as_str(), |end| end.text.as_str())
    }
}

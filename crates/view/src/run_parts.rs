//! Parts of a run's state: phase, activity, calls, waits, notices, and the end as the delegating call tells it.
//!
//! Lists have limits, so that a long session does not grow without bound: the oldest entries are dropped.

use std::collections::VecDeque;

use rooftree_protocol::{
    CallId, Event, EventBody, Outcome, RunId, RunStatus, Timestamp, ToolKind, Usage,
    event::{NoticeLevel, TaskNote, ToolRecord, WaitReason},
    tool_call::FileAction,
};
use serde::{Deserialize, Serialize};

/// Calls that have ended and are kept per run; `TreeRun::calls` counts all.
pub const FINISHED_CALLS: usize = 50;
/// Notices kept per run, and per session outside of runs.
pub const NOTICES: usize = 50;
/// Waits kept per run.
pub const WAITS: usize = 1_000;
/// Characters kept of the last line that a running call wrote.
const OUTPUT: usize = 1_000;

/// State of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum RunPhase {
    /// A call has started it; it has not begun.
    Queued,
    /// It works.
    Working,
    /// It waits.
    Waiting {
        /// For what.
        reason: WaitReason,
        /// Until when at most.
        until: Option<Timestamp>,
        /// In words.
        detail: String,
    },
    /// It has ended.
    Ended {
        /// How.
        status: RunStatus,
    },
}

/// What a run did last.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum RunActivity {
    /// Nothing was heard yet.
    Starting,
    /// A model on the user's own machine reads its prompt.
    Reading {
        /// Estimated tokens that it has not read before.
        tokens: u64,
    },
    /// The model thinks.
    Thinking,
    /// The model writes its reply.
    Answering,
    /// A call was started.
    Calling {
        /// Canonical tool name.
        tool: String,
        /// In a few words.
        title: String,
    },
    /// A permission was requested.
    Asking {
        /// Canonical tool name.
        tool: String,
        /// In a few words.
        title: String,
    },
    /// It waits.
    Waiting {
        /// In words.
        detail: String,
    },
}

/// A call of a run, running or ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TreeCall {
    /// Which one.
    pub call: CallId,
    /// Canonical tool name.
    pub tool: String,
    /// Its family, if its beginning was seen.
    pub kind: Option<ToolKind>,
    /// In a few words, for people.
    pub title: String,
    /// The running call it is made from inside of.
    pub inside: Option<CallId>,
    /// The run it started or asked about.
    pub task: Option<RunId>,
    /// Since when.
    pub started_at: Timestamp,
    /// The last line it wrote.
    pub output: String,
    /// How it ended, if it has.
    pub outcome: Option<Outcome>,
    /// How long it took, if it has ended.
    pub duration_ms: Option<u64>,
    /// Lines added to files.
    pub added: u32,
    /// Lines removed from files.
    pub removed: u32,
}

impl TreeCall {
    /// The call that an event starts.
    pub(crate) fn started_by(event: &Event) -> Option<Self> {
        let EventBody::ToolStarted {
            call,
            tool,
            kind,
            title,
            inside,
            ..
        } = &event.body
        else {
            return None;
        };
        Some(Self {
            call: call.clone(),
            tool: tool.clone(),
            kind: Some(*kind),
            title: title.clone(),
            inside: inside.clone(),
            task: None,
            started_at: event.ts,
            output: String::new(),
            outcome: None,
            duration_ms: None,
            added: 0,
            removed: 0,
        })
    }

    /// The call that a record ends; its beginning may not have been seen.
    pub(crate) fn ended_by(started: Option<Self>, event: &Event, record: &ToolRecord) -> Self {
        let changed = record
            .files
            .iter()
            .filter(|note| note.action == FileAction::Changed);
        let (added, removed) = changed.fold((0_u32, 0_u32), |(added, removed), note| {
            (
                added.saturating_add(note.added),
                removed.saturating_add(note.removed),
            )
        });
        Self {
            call: record.call.clone(),
            tool: record.tool.clone(),
            kind: started.as_ref().and_then(|started| started.kind),
            title: record.title.clone(),
            inside: record.inside.clone(),
            task: record.task.as_ref().map(|note| note.task.clone()),
            started_at: started.map_or(event.ts, |started| started.started_at),
            output: String::new(),
            outcome: Some(record.outcome),
            duration_ms: Some(record.duration_ms),
            added,
            removed,
        }
    }

    pub(crate) fn write(&mut self, text: &str) {
        let line = text.trim_end().lines().last().unwrap_or_default();
        self.output = line.chars().take(OUTPUT).collect();
    }
}

/// A while in which a run could not go on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeWait {
    /// What it waited for.
    pub reason: WaitReason,
    /// Since when.
    pub from: Timestamp,
    /// Until when, if it is over.
    pub to: Option<Timestamp>,
}

/// Something people should know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeNotice {
    /// When it was said.
    pub at: Timestamp,
    /// How bad it is.
    pub level: NoticeLevel,
    /// Which notice.
    pub code: String,
    /// In words.
    pub message: String,
    /// What to do.
    pub hint: Option<String>,
}

impl TreeNotice {
    /// The notice of an event; none if it is none.
    pub(crate) fn of(event: &Event) -> Option<Self> {
        let EventBody::Notice {
            level,
            code,
            message,
            hint,
        } = &event.body
        else {
            return None;
        };
        Some(Self {
            at: event.ts,
            level: *level,
            code: code.clone(),
            message: message.clone(),
            hint: hint.clone(),
        })
    }
}

/// The end of a run as the call that delegated it tells it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReportedEnd {
    /// How it ended.
    pub status: RunStatus,
    /// Whether its work was checked, and found good.
    pub verified: Option<bool>,
    /// What it used.
    pub usage: Option<Usage>,
    /// How long the call took.
    pub duration_ms: u64,
}

impl ReportedEnd {
    pub(crate) fn of(note: &TaskNote, record: &ToolRecord) -> Option<Self> {
        Some(Self {
            status: note.status?,
            verified: note.verified,
            usage: note.usage,
            duration_ms: record.duration_ms,
        })
    }
}

/// Adds something to a list that keeps the last ones.
pub(crate) fn push_bounded<T>(list: &mut VecDeque<T>, item: Option<T>, limit: usize) {
    list.extend(item);
    while list.len() > limit {
        list.pop_front();
    }
}

//! Summary of a run for lists, from its first and last event.

use std::fmt;

use rooftree_protocol::{
    EventBody, Problem, RunId, RunStatus, SessionId, Timestamp, Usage,
    event::{RunEnd, RunMode},
};
use rooftree_store::RunRow;
use rooftree_view::{RunItem, RunWorkState};
use serde::Serialize;

/// What is known of a run.
#[derive(Clone, Debug, Serialize)]
pub struct RunSummary {
    pub run: RunId,
    pub session: SessionId,
    pub agent: String,
    /// The run that delegated it.
    pub parent: Option<RunId>,
    pub mode: RunMode,
    pub status: RunState,
    /// Whether its work was checked, and found good.
    pub verified: Option<bool>,
    pub model: String,
    /// What it was asked, in short.
    pub title: String,
    pub turns: u32,
    pub tools: u32,
    /// What it used itself.
    pub usage: Usage,
    /// What those it asked used.
    pub delegated: Usage,
    pub started_at: Timestamp,
    pub duration_ms: Option<u64>,
    pub error: Option<Problem>,
}

/// How a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum RunState {
    Ended(RunStatus),
    #[serde(serialize_with = "running")]
    Running,
    /// No process works on it; it goes on when its session does.
    #[serde(serialize_with = "unfinished")]
    Unfinished,
}

fn running<S: serde::Serializer>(serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str("running")
}

fn unfinished<S: serde::Serializer>(serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str("unfinished")
}

impl fmt::Display for RunState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ended(status) => status.fmt(f),
            Self::Running => f.write_str("running"),
            Self::Unfinished => f.write_str("unfinished"),
        }
    }
}

impl RunState {
    /// The sign and the word, so that neither colour nor sign carries it alone.
    pub fn sign(self) -> &'static str {
        match self {
            Self::Ended(RunStatus::Completed) => "✓",
            Self::Ended(RunStatus::Failed) => "✗",
            Self::Ended(_) => "■",
            Self::Running => "◌",
            Self::Unfinished => "!",
        }
    }
}

impl From<RunItem> for RunSummary {
    fn from(item: RunItem) -> Self {
        let status = match (item.status, item.state) {
            (Some(status), _) => RunState::Ended(status),
            (None, RunWorkState::Running) => RunState::Running,
            (None, _) => RunState::Unfinished,
        };
        Self {
            status,
            run: item.run,
            session: item.session,
            agent: item.agent,
            parent: item.parent,
            mode: item.mode,
            verified: item.verified,
            model: item.model,
            title: item.title,
            turns: item.turns,
            tools: item.calls,
            usage: item.usage,
            delegated: item.delegated,
            started_at: item.started_at,
            duration_ms: item.duration_ms,
            error: item.error,
        }
    }
}

impl RunSummary {
    /// What it and those below it used.
    pub fn total(&self) -> Usage {
        let mut total = self.usage;
        total += self.delegated;
        total
    }
}

/// How a run ended, if it has.
pub fn end(row: &RunRow) -> Option<&RunEnd> {
    match row.ended.as_ref().map(|event| &event.body) {
        Some(EventBody::RunCompleted(end)) => Some(end),
        _ => None,
    }
}

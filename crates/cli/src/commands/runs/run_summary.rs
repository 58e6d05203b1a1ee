//! Summary of a run for lists, from its first and last event.

use std::fmt;

use rooftree_protocol::{
    EventBody, Problem, RunId, RunStatus, SessionId, Timestamp, Usage,
    event::{RunEnd, RunMode},
};
use rooftree_store::{Owner, RunRow, Store};
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

impl RunSummary {
    /// Summarizes a run from its first and last event, and from whether a process works on it.
    pub async fn of(store: &dyn Store, row: &RunRow) -> Result<Option<Self>, Problem> {
        let EventBody::RunStarted {
            mode, model, title, ..
        } = &row.started.body
        else {
            return Ok(None);
        };
        let Some(run) = row.started.run.clone() else {
            return Ok(None);
        };
        let end = end(row);
        let status = match end {
            Some(end) => RunState::Ended(end.status),
            None => standing(store, &row.started.session).await?,
        };
        Ok(Some(Self {
            run,
            session: row.started.session.clone(),
            agent: row.started.agent.clone(),
            parent: row.started.parent_run.clone(),
            mode: *mode,
            status,
            verified: end.and_then(|end| end.verified),
            model: model.clone(),
            title: title.clone(),
            turns: end.map_or(0, |end| end.turns),
            tools: end.map_or(0, |end| end.calls),
            usage: end.map_or_else(Usage::none, |end| end.usage),
            delegated: end.map_or_else(Usage::none, |end| end.delegated),
            started_at: row.started.ts,
            duration_ms: end.map(|end| end.duration_ms),
            error: end.and_then(|end| end.error.clone()),
        }))
    }

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

/// How a run is that has not ended.
pub async fn standing(store: &dyn Store, session: &SessionId) -> Result<RunState, Problem> {
    let owner = store
        .owner(session)
        .await
        .map_err(|error| error.problem())?;
    let works = owner.is_some_and(|owner| !owner.is_dead_for(&Owner::this_process()));
    Ok(if works {
        RunState::Running
    } else {
        RunState::Unfinished
    })
}

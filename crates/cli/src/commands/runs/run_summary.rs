//! Summary of a run for lists, from its first and last event.

use std::fmt;

use rooftree_protocol::{
    EventBody, Problem, RunId, RunStatus, SessionId, Timestamp, Usage,
    event::{RunEnd, RunMode},
};
use rooftree_runtime::Queries;
use rooftree_store::{Owner, RunRow};
use rooftree_view::{RunTreeView, TreeRun};
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
    pub async fn of(store: &Queries, row: &RunRow) -> Result<Option<Self>, Problem> {
        let Some(run) = folded(row).filter(|run| run.origin.mode.is_some()) else {
            return Ok(None);
        };
        let status = match run.status() {
            Some(status) => RunState::Ended(status),
            None => standing(store, &run.session).await?,
        };
        Ok(Some(Self {
            status,
            mode: run.mode(),
            verified: run.verified(),
            turns: run.total_turns(),
            tools: run.total_calls(),
            usage: run.own_usage(),
            delegated: run
                .end
                .as_ref()
                .map_or_else(Usage::none, |end| end.delegated),
            duration_ms: run.duration_ms(),
            error: run.end.as_ref().and_then(|end| end.error.clone()),
            run: run.run,
            session: run.session,
            agent: run.agent,
            parent: run.origin.parent_run,
            model: run.model,
            title: run.origin.title,
            started_at: run.started_at,
        }))
    }

    /// What it and those below it used.
    pub fn total(&self) -> Usage {
        let mut total = self.usage;
        total += self.delegated;
        total
    }
}

/// What the first and the last event tell of a run.
fn folded(row: &RunRow) -> Option<TreeRun> {
    let mut tree = RunTreeView::default();
    tree.apply(&row.started);
    row.ended.iter().for_each(|event| {
        tree.apply(event);
    });
    tree.run(row.started.run.as_ref()?).cloned()
}

/// How a run ended, if it has.
pub fn end(row: &RunRow) -> Option<&RunEnd> {
    match row.ended.as_ref().map(|event| &event.body) {
        Some(EventBody::RunCompleted(end)) => Some(end),
        _ => None,
    }
}

/// How a run is that has not ended.
pub async fn standing(store: &Queries, session: &SessionId) -> Result<RunState, Problem> {
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

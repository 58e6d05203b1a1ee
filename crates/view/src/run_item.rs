//! A run in lists, and one run with all that its end tells: as the API sends them and clients read them.

use rooftree_protocol::{
    Problem, RunId, RunStatus, SessionId, Timestamp, Usage,
    event::{RunEnd, RunMode},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::TreeRun;

/// A run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunItem {
    /// Its id.
    pub run: RunId,
    /// In which session.
    pub session: SessionId,
    /// Of which agent.
    pub agent: String,
    /// The run that delegated it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<RunId>,
    /// What started it.
    pub mode: RunMode,
    /// Whether it works.
    pub state: RunWorkState,
    /// How it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<RunStatus>,
    /// Whether its work was checked, and found good.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verified: Option<bool>,
    /// The model.
    pub model: String,
    /// What it was asked, in short.
    pub title: String,
    /// What it answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Replies of the model.
    pub turns: u32,
    /// Tool calls.
    pub calls: u32,
    /// What it used itself.
    pub usage: Usage,
    /// What those it asked used.
    pub delegated: Usage,
    /// When it began.
    pub started_at: Timestamp,
    /// How long it took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// What went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Problem>,
}

/// One run, with what its end tells.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunDetail {
    /// The run.
    #[serde(flatten)]
    pub item: RunItem,
    /// Tools, files, steps and findings; absent while it works.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<RunEnd>,
}

/// Whether a run works.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunWorkState {
    /// A process works on it.
    Running,
    /// No process works on it; it goes on when its session does.
    Unfinished,
    /// It has ended.
    Ended,
}

impl RunItem {
    /// What is known of a run.
    pub fn of(run: &TreeRun, state: RunWorkState) -> Self {
        let end = run.end.as_ref();
        Self {
            run: run.run.clone(),
            session: run.session.clone(),
            agent: run.agent.clone(),
            parent: run.origin.parent_run.clone(),
            mode: run.mode(),
            state,
            status: run.status(),
            verified: run.verified(),
            model: run.model.clone(),
            title: run.origin.title.clone(),
            text: end.map(|end| end.text.clone()),
            turns: run.total_turns(),
            calls: run.total_calls(),
            usage: run.own_usage(),
            delegated: end.map_or_else(Usage::none, |end| end.delegated),
            started_at: run.started_at,
            duration_ms: run.duration_ms(),
            error: end.and_then(|end| end.error.clone()),
        }
    }
}

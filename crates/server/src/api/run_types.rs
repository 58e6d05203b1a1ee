//! Runs and traces as the API shows them.

use rooftree_protocol::{Problem, RunId, RunStatus, SessionId, Timestamp, Usage, event::RunMode};
use rooftree_view::RunSpan;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which runs to list.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RunListQuery {
    /// Only of this session.
    pub(super) session: Option<String>,
    /// Only those that this run delegated.
    pub(super) parent: Option<String>,
    /// Only those that were not delegated.
    pub(super) roots: bool,
    /// Where the page begins: `next` of the page before.
    pub(super) cursor: Option<String>,
    /// At most this many, up to 200.
    pub(super) limit: Option<usize>,
}

/// One page of runs.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct RunListPage {
    /// The runs.
    pub(super) runs: Vec<RunItem>,
    /// The cursor of the next page; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) next: Option<String>,
}

/// A run.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct RunItem {
    /// Its id.
    pub(super) run: RunId,
    /// In which session.
    pub(super) session: SessionId,
    /// Of which agent.
    pub(super) agent: String,
    /// The run that delegated it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) parent: Option<RunId>,
    /// What started it.
    pub(super) mode: RunMode,
    /// Whether it works.
    pub(super) state: RunWorkState,
    /// How it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) status: Option<RunStatus>,
    /// Whether its work was checked, and found good.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) verified: Option<bool>,
    /// The model.
    pub(super) model: String,
    /// What it was asked, in short.
    pub(super) title: String,
    /// What it answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) text: Option<String>,
    /// Replies of the model.
    pub(super) turns: u32,
    /// Tool calls.
    pub(super) calls: u32,
    /// What it used itself.
    pub(super) usage: Usage,
    /// When it began.
    pub(super) started_at: Timestamp,
    /// How long it took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) duration_ms: Option<u64>,
    /// What went wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<Problem>,
}

/// Whether a run works.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum RunWorkState {
    /// A process works on it.
    Running,
    /// No process works on it; it goes on when its session does.
    Unfinished,
    /// It has ended.
    Ended,
}

/// How to write a trace.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct TraceQuery {
    /// As spans, as a picture, or as OTLP JSON.
    pub(super) format: TraceFormat,
}

/// How a trace is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum TraceFormat {
    /// Spans.
    #[default]
    Json,
    /// A picture.
    Svg,
    /// The body of an OTLP request.
    Otlp,
}

/// A trace: spans, or the body of an OTLP request.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum RunTrace {
    /// Each run above those it delegated to.
    Spans {
        /// The spans.
        spans: Vec<RunSpan>,
    },
    /// As OTLP has it.
    Otlp(serde_json::Map<String, serde_json::Value>),
}

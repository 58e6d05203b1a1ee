//! Runs and traces as the API shows them.

use rooftree_view::{RunItem, RunSpan};
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
    /// Only those whose id ends so.
    pub(super) ending: Option<String>,
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

//! Trace spans: when each run of a tree worked and waited, as data. Drawing them is left to clients.

use std::collections::HashSet;

use rooftree_protocol::{
    RunId, RunStatus, SessionId, Timestamp, Usage,
    event::{RunMode, WaitReason},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{RunTreeView, TreeRun, trace_steps::TraceStep};

/// One run: when it worked and waited, and what came of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunSpan {
    /// Which run.
    pub run: RunId,
    /// In which session.
    pub session: SessionId,
    /// What it was asked, in short.
    pub title: String,
    /// How many are above it in the trace.
    pub depth: usize,
    /// Its definition.
    pub agent: String,
    /// The model it began with.
    pub model: String,
    /// What started it.
    pub mode: RunMode,
    /// When it began.
    pub from: Timestamp,
    /// When it ended, or up to when it is known to have worked.
    pub to: Timestamp,
    /// How it ended, if it has.
    pub status: Option<RunStatus>,
    /// What it used itself.
    pub usage: Usage,
    /// When it waited.
    pub waits: Vec<WaitSpan>,
    /// Its requests to models and tool calls, oldest first; only where its events were read.
    pub steps: Vec<TraceStep>,
    /// How many steps before those were left out.
    pub earlier_steps: usize,
    /// Why it failed.
    pub failure: String,
}

/// A while in which a run could not go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WaitSpan {
    /// Who was waited for.
    pub cause: WaitCause,
    /// Since when.
    pub from: Timestamp,
    /// Until when.
    pub to: Timestamp,
}

/// Who is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WaitCause {
    /// A person, who must answer.
    Person,
    /// The provider of the model.
    Provider,
}

/// The spans of these runs and of all below them, each above those it delegated to, no run twice. `until` tells up to
/// when a run that has not ended is drawn.
pub fn spans(
    tree: &RunTreeView,
    roots: &[RunId],
    until: impl Fn(&TreeRun) -> Timestamp,
) -> Vec<RunSpan> {
    let mut known = HashSet::new();
    let mut spans = Vec::new();
    let mut rest: Vec<(&RunId, usize)> = roots.iter().rev().map(|root| (root, 0)).collect();
    while let Some((id, depth)) = rest.pop() {
        let Some(run) = tree.run(id).filter(|_| known.insert(id)) else {
            continue;
        };
        spans.push(span(run, depth, until(run)));
        let below = tree.runs().iter().rev();
        let below = below.filter(|below| below.origin.parent_run.as_ref() == Some(id));
        rest.extend(below.map(|below| (&below.run, depth + 1)));
    }
    spans
}

fn span(run: &TreeRun, depth: usize, to: Timestamp) -> RunSpan {
    let problem = run.end.as_ref().and_then(|end| end.error.as_ref());
    RunSpan {
        run: run.run.clone(),
        session: run.session.clone(),
        title: run.origin.title.clone(),
        depth,
        agent: run.agent.clone(),
        model: run.origin.first_model.clone(),
        mode: run.mode(),
        from: run.started_at,
        to,
        status: run.status(),
        usage: run.own_usage(),
        waits: waits(run, to),
        steps: Vec::new(),
        earlier_steps: 0,
        failure: problem.map_or_else(String::new, |problem| problem.message.clone()),
    }
}

/// Waits for a person or a provider. One without an end lasts until the run's.
fn waits(run: &TreeRun, end: Timestamp) -> Vec<WaitSpan> {
    let spans = run.log.waits.iter().filter_map(|wait| {
        let cause = match wait.reason {
            WaitReason::Permission | WaitReason::Question => WaitCause::Person,
            WaitReason::RateLimit | WaitReason::Retry => WaitCause::Provider,
            WaitReason::Child => return None,
        };
        Some(WaitSpan {
            cause,
            from: wait.from,
            to: wait.to.unwrap_or(end),
        })
    });
    spans.collect()
}

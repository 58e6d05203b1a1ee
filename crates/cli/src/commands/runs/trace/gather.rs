//! Collects the data of a trace: the runs of a tree, and when each of them waited.

use std::collections::HashSet;

use rooftree_protocol::{
    Event, EventBody, Origin, Problem, RunId, RunStatus, Timestamp, Usage,
    event::{RunMode, WaitReason},
};
use rooftree_runtime::{Clock, SystemClock};
use rooftree_store::{JournalPages, RunFilter, RunRow, Store};

use super::super::run_summary::{self, RunState};

/// Maximum depth of delegation that is followed.
const DEEPEST: usize = 64;

/// One run: when it worked and waited, and what came of it.
#[derive(Clone, Debug)]
pub struct RunSpan {
    /// How many are above it in the picture.
    pub depth: usize,
    pub agent: String,
    pub model: String,
    pub mode: RunMode,
    pub from: Timestamp,
    pub to: Timestamp,
    /// How it ended, if it has.
    pub status: Option<RunStatus>,
    /// What it used itself.
    pub usage: Usage,
    pub waits: Vec<WaitSpan>,
    /// Why it failed.
    pub failure: String,
}

/// A while in which a run could not go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitSpan {
    pub cause: WaitCause,
    pub from: Timestamp,
    pub to: Timestamp,
}

/// Who is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitCause {
    Person,
    Provider,
}

/// A run and all below it, each above those it delegated to; then what their answers woke.
pub async fn spans(store: &dyn Store, root: RunRow) -> Result<Vec<RunSpan>, Problem> {
    let mut known = HashSet::new();
    let mut spans = Vec::new();
    let (session, since) = (root.started.session.clone(), root.started.id);
    descend(store, root, &mut known, &mut spans).await?;
    let filter = RunFilter {
        session: Some(session),
        ..RunFilter::default()
    };
    let others = store.runs(filter).await.map_err(|error| error.problem())?;
    for row in others
        .into_iter()
        .rev()
        .filter(|row| row.started.id > since && is_woken(row))
    {
        let events = events(store, &row).await?;
        if events.iter().any(|event| answers(event, &known)) {
            descend(store, row, &mut known, &mut spans).await?;
        }
    }
    Ok(spans)
}

/// Depth first, so that each stands below the one who asked.
async fn descend(
    store: &dyn Store,
    root: RunRow,
    known: &mut HashSet<RunId>,
    spans: &mut Vec<RunSpan>,
) -> Result<(), Problem> {
    let mut rest = vec![(root, 0)];
    while let Some((row, depth)) = rest.pop() {
        let Some(run) = row
            .started
            .run
            .clone()
            .filter(|run| known.insert(run.clone()))
        else {
            continue;
        };
        let events = events(store, &row).await?;
        let to = until(store, &row, &events).await?;
        spans.extend(span(&row, depth, &events, to));
        if depth < DEEPEST {
            let filter = RunFilter {
                parent: Some(run),
                ..RunFilter::default()
            };
            // The latest come first, so the oldest is taken from the end first.
            let below = store.runs(filter).await.map_err(|error| error.problem())?;
            rest.extend(below.into_iter().map(|row| (row, depth + 1)));
        }
    }
    Ok(())
}

fn is_woken(row: &RunRow) -> bool {
    matches!(
        row.started.body,
        EventBody::RunStarted {
            mode: RunMode::Woken,
            ..
        }
    )
}

/// Whether an event brings the answer of one of these runs.
fn answers(event: &Event, runs: &HashSet<RunId>) -> bool {
    match &event.body {
        EventBody::MessageUser { message, .. } => {
            matches!(&message.origin, Origin::Task { task, .. } if runs.contains(task))
        }
        _ => false,
    }
}

/// The events of one run.
async fn events(store: &dyn Store, row: &RunRow) -> Result<Vec<Event>, Problem> {
    let last = row
        .ended
        .as_ref()
        .and_then(|event| event.id)
        .unwrap_or(u64::MAX);
    let after = row.started.id.unwrap_or(1).saturating_sub(1);
    let pages = JournalPages::after(store, &row.started.session, after).up_to(last);
    let mut events = pages.all().await.map_err(|error| error.problem())?;
    events.retain(|event| event.run == row.started.run);
    Ok(events)
}

/// When a run ended; up to when it is known to have worked, if it has not.
async fn until(store: &dyn Store, row: &RunRow, events: &[Event]) -> Result<Timestamp, Problem> {
    if let Some(ended) = &row.ended {
        return Ok(ended.ts);
    }
    let last = events.last().map_or(row.started.ts, |event| event.ts);
    Ok(
        match run_summary::standing(store, &row.started.session).await? {
            RunState::Running => SystemClock.now(),
            _ => last,
        },
    )
}

fn span(row: &RunRow, depth: usize, events: &[Event], to: Timestamp) -> Option<RunSpan> {
    let EventBody::RunStarted { mode, model, .. } = &row.started.body else {
        return None;
    };
    let end = run_summary::end(row);
    let from = row.started.ts;
    let failure = end
        .and_then(|end| end.error.as_ref())
        .map(|problem| problem.message.clone());
    Some(RunSpan {
        depth,
        agent: row.started.agent.clone(),
        model: model.clone(),
        mode: *mode,
        from,
        to,
        status: end.map(|end| end.status),
        usage: end.map_or_else(|| so_far(events), |end| end.usage),
        waits: waits(events, to),
        failure: failure.unwrap_or_default(),
    })
}

fn so_far(events: &[Event]) -> Usage {
    events.iter().fold(Usage::none(), |mut sum, event| {
        match &event.body {
            EventBody::MessageCompleted(reply) => sum += reply.usage,
            EventBody::ToolCompleted(record) => sum += record.usage.unwrap_or_else(Usage::none),
            _ => {}
        }
        sum
    })
}

/// The spans in which a run waited. A wait without an end event lasts until the run ends.
fn waits(events: &[Event], end: Timestamp) -> Vec<WaitSpan> {
    let mut waits: Vec<WaitSpan> = Vec::new();
    let mut open: Option<(WaitCause, Timestamp)> = None;
    let mut close = |open: &mut Option<(WaitCause, Timestamp)>, to: Timestamp| {
        waits.extend(
            open.take()
                .map(|(cause, from)| WaitSpan { cause, from, to }),
        );
    };
    for event in events {
        match &event.body {
            EventBody::RunWaiting { reason, .. } => {
                close(&mut open, event.ts);
                open = match reason {
                    WaitReason::Permission | WaitReason::Question => {
                        Some((WaitCause::Person, event.ts))
                    }
                    WaitReason::RateLimit | WaitReason::Retry => {
                        Some((WaitCause::Provider, event.ts))
                    }
                    WaitReason::Child => None,
                };
            }
            EventBody::RunResumed { .. } => close(&mut open, event.ts),
            _ => {}
        }
    }
    close(&mut open, end);
    waits
}

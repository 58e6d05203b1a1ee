//! Reads the runs of a trace from the store: a run, those below it, and what their answers woke.

use std::collections::{HashMap, HashSet};

use rooftree_protocol::{Event, EventBody, Origin, Problem, RunId, Timestamp, event::RunMode};
use rooftree_store::{Owner, RunFilter, RunRow};
use rooftree_view::{RunSpan, RunTreeView, TraceSteps, TreeRun};

use crate::Queries;

/// Maximum depth of delegation that is followed.
const DEEPEST: usize = 64;

/// The runs that were found.
struct GatheredRuns<'a> {
    store: &'a Queries,
    tree: RunTreeView,
    known: HashSet<RunId>,
    /// Runs without one above them.
    roots: Vec<RunId>,
    /// Runs that a process works on.
    at_work: HashSet<RunId>,
    steps: HashMap<RunId, TraceSteps>,
}

/// A run and all below it, each above those it delegated to; then what their answers woke.
pub async fn gather_spans(
    store: &Queries,
    root: RunRow,
    now: Timestamp,
) -> Result<Vec<RunSpan>, Problem> {
    let (session, since) = (root.started.session.clone(), root.started.id);
    let mut found = GatheredRuns {
        store,
        tree: RunTreeView::of(session.clone()),
        known: HashSet::new(),
        roots: Vec::new(),
        at_work: HashSet::new(),
        steps: HashMap::new(),
    };
    found.descend(root).await?;
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
        if events.iter().any(|event| answers(event, &found.known)) {
            found.descend(row).await?;
        }
    }
    let until = |run: &TreeRun| found.until(run, now);
    let mut spans = rooftree_view::spans(&found.tree, &found.roots, until);
    for span in &mut spans {
        let steps = found.steps.remove(&span.run).unwrap_or_default();
        (span.steps, span.earlier_steps) = steps.finish(found.at_work.contains(&span.run));
    }
    Ok(spans)
}

impl GatheredRuns<'_> {
    /// Adds a run and those below it, each before those it delegated to, the oldest first.
    async fn descend(&mut self, root: RunRow) -> Result<(), Problem> {
        self.roots.extend(root.started.run.clone());
        let mut rest = vec![(root, 0)];
        while let Some((row, depth)) = rest.pop() {
            let Some(run) = row
                .started
                .run
                .clone()
                .filter(|run| self.known.insert(run.clone()))
            else {
                continue;
            };
            self.add(&row, &run).await?;
            if depth < DEEPEST {
                let filter = RunFilter {
                    parent: Some(run),
                    ..RunFilter::default()
                };
                // The latest come first, so the oldest is taken from the end first.
                let below = self.store.runs(filter).await;
                let below = below.map_err(|error| error.problem())?;
                rest.extend(below.into_iter().map(|row| (row, depth + 1)));
            }
        }
        Ok(())
    }

    /// Folds a run from its own events.
    async fn add(&mut self, row: &RunRow, run: &RunId) -> Result<(), Problem> {
        let mut own = RunTreeView::default();
        let mut steps = TraceSteps::default();
        for event in events(self.store, row).await? {
            own.apply(&event);
            steps.apply(&event);
        }
        self.steps.insert(run.clone(), steps);
        if let Some(folded) = own.run(run) {
            self.tree.adopt(folded.clone());
        }
        let owner = self.store.owner(&row.started.session).await;
        let owner = owner.map_err(|error| error.problem())?;
        let is_owned = owner.is_some_and(|owner| !owner.is_dead_for(&Owner::this_process()));
        if row.ended.is_none() && is_owned {
            self.at_work.insert(run.clone());
        }
        Ok(())
    }

    /// When a run ended; up to when it is known to have worked, if it has not.
    fn until(&self, run: &TreeRun, now: Timestamp) -> Timestamp {
        if self.at_work.contains(&run.run) {
            now
        } else {
            run.updated_at
        }
    }
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
async fn events(store: &Queries, row: &RunRow) -> Result<Vec<Event>, Problem> {
    let last = row
        .ended
        .as_ref()
        .and_then(|event| event.id)
        .unwrap_or(u64::MAX);
    let after = row.started.id.unwrap_or(1).saturating_sub(1);
    let events = store.events_up_to(&row.started.session, after, last).await;
    let mut events = events.map_err(|error| error.problem())?;
    events.retain(|event| event.run == row.started.run);
    Ok(events)
}

//! Selects the events that belong to a run and to the runs it delegated to, and detects when all have ended. Pure.

use rooftree_protocol::{Event, EventBody, RunId, SessionId, event::RunEnd};
use rooftree_view::{RunPhase, RunTreeView, TreeRun};

/// When to stop watching.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum WatchUntil {
    /// This run has ended.
    Ended(RunId),
    /// The session rests, and has been told of everything it started.
    Rests,
}

/// A run, the runs below it, and how far all of them are.
pub(crate) struct RunTree {
    root: SessionId,
    until: WatchUntil,
    tree: RunTreeView,
}

impl RunTree {
    pub(crate) fn new(root: SessionId, until: WatchUntil) -> Self {
        let tree = RunTreeView::of(root.clone());
        Self { root, until, tree }
    }

    pub(crate) fn is_over(&self) -> bool {
        let runs = self.tree.runs_in(&self.root);
        match &self.until {
            WatchUntil::Ended(run) => self.tree.run(run).is_some_and(|run| run.end.is_some()),
            WatchUntil::Rests => {
                let session = self.tree.session(&self.root);
                let is_told = session.is_some_and(|session| session.awaiting.is_empty());
                let mut begun = runs.filter(|run| run.phase != RunPhase::Queued).peekable();
                is_told && begun.peek().is_some() && begun.all(TreeRun::has_ended)
            }
        }
    }

    /// How the root's runs ended, in order.
    pub(crate) fn ends(&self) -> Vec<(RunId, RunEnd)> {
        let runs = self.tree.runs_in(&self.root);
        let ends = runs.filter_map(|run| Some((run.run.clone(), (**run.end.as_ref()?).clone())));
        ends.collect()
    }

    /// Takes an event in; says whether it is ours and new.
    pub(crate) fn take(&mut self, event: &Event) -> bool {
        let is_new = event
            .id
            .is_none_or(|id| id > self.tree.head(&event.session));
        let is_taken = is_new && self.is_ours(event);
        if is_taken {
            self.tree.apply(event);
        }
        is_taken
    }

    fn is_ours(&self, event: &Event) -> bool {
        let is_known = |run: &RunId| self.tree.run(run).is_some();
        let is_roots = match &self.until {
            WatchUntil::Rests => event.session == self.root,
            WatchUntil::Ended(run) => event.run.as_ref() == Some(run),
        };
        if is_roots {
            return true;
        }
        match (&event.run, &event.body) {
            (
                Some(_),
                EventBody::RunStarted {
                    parent: Some(parent),
                    ..
                },
            ) => is_known(&parent.run),
            (Some(run), _) => is_known(run),
            (None, _) => event.parent_run.as_ref().is_some_and(is_known),
        }
    }
}

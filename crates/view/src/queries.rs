//! Queries of a run tree: its sessions and runs, which run works for which, open inquiries, usage.

use std::collections::BTreeSet;

use rooftree_protocol::{CallId, RunId, SessionId, Usage};

use crate::{OpenInquiry, RunTreeView, TreeRun, TreeSession};

impl RunTreeView {
    /// The root session, if it is known.
    pub fn root(&self) -> Option<&SessionId> {
        self.root.as_ref()
    }

    /// All sessions, in the order in which they were first heard of.
    pub fn sessions(&self) -> &[TreeSession] {
        &self.sessions
    }

    /// A session.
    pub fn session(&self, session: &SessionId) -> Option<&TreeSession> {
        self.sessions.iter().find(|known| known.session == *session)
    }

    /// The number of the last durable event of a session that was applied; zero if there is none.
    pub fn head(&self, session: &SessionId) -> u64 {
        self.session(session).map_or(0, |known| known.head)
    }

    /// All runs, in the order in which they were first heard of.
    pub fn runs(&self) -> &[TreeRun] {
        &self.runs
    }

    /// A run.
    pub fn run(&self, run: &RunId) -> Option<&TreeRun> {
        self.runs.iter().rfind(|known| known.run == *run)
    }

    /// The runs of a session.
    pub fn runs_in<'a>(&'a self, session: &'a SessionId) -> impl Iterator<Item = &'a TreeRun> {
        self.runs.iter().filter(move |run| run.session == *session)
    }

    /// The runs outside of the root session: those that were delegated.
    pub fn delegated(&self) -> impl Iterator<Item = &TreeRun> {
        self.runs
            .iter()
            .filter(|run| Some(&run.session) != self.root.as_ref())
    }

    /// The delegated runs that have not ended.
    pub fn delegated_at_work(&self) -> impl Iterator<Item = &TreeRun> {
        self.delegated().filter(|run| !run.has_ended())
    }

    /// The runs that a call delegated.
    pub fn started_by_call<'a>(
        &'a self,
        call: &CallId,
    ) -> impl Iterator<Item = &'a TreeRun> + use<'a> {
        let call = call.clone();
        self.runs.iter().filter(move |run| {
            run.origin
                .parent
                .as_ref()
                .is_some_and(|parent| parent.call == call)
        })
    }

    /// The runs that a run delegated.
    pub fn started_by_run<'a>(&'a self, run: &'a RunId) -> impl Iterator<Item = &'a TreeRun> {
        self.runs.iter().filter(move |below| {
            below
                .origin
                .parent
                .as_ref()
                .is_some_and(|parent| parent.run == *run)
        })
    }

    /// Whether a run is this one or works for it, directly or through other runs that are known.
    pub fn is_within(&self, run: &RunId, above: &RunId) -> bool {
        let mut current = run;
        for _ in 0..=self.runs.len() {
            if current == above {
                return true;
            }
            match self
                .run(current)
                .and_then(|known| known.origin.parent.as_ref())
            {
                Some(parent) => current = &parent.run,
                None => return false,
            }
        }
        false
    }

    /// Permission requests and questions that wait for an answer, in the order in which they were asked.
    pub fn inquiries(&self) -> &[OpenInquiry] {
        &self.inquiries
    }

    /// What a run and all runs below it used, as far as it is known.
    pub fn total_usage(&self, run: &RunId) -> Usage {
        let mut sum = Usage::none();
        let mut seen = BTreeSet::new();
        let mut rest = vec![run];
        while let Some(run) = rest.pop() {
            if !seen.insert(run) {
                continue;
            }
            if let Some(known) = self.run(run) {
                sum += known.own_usage();
            }
            let below: Vec<&RunId> = self.started_by_run(run).map(|below| &below.run).collect();
            rest.extend(below.into_iter().rev());
        }
        sum
    }
}

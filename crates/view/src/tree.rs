//! The run tree: applies events and answers what views ask of it.

use std::collections::BTreeSet;

use rooftree_protocol::{
    CallId, Event, EventBody, ParentCall, RunId, SessionId, Usage,
    event::{TaskNote, ToolRecord},
};
use serde::Deserialize;

use crate::{
    OpenInquiry, TreeRun, TreeSession, inquiry,
    run_parts::{ReportedEnd, RunPhase},
};

/// A session, the sessions below it, and their runs, folded from events.
///
/// Invariant: the same events give the same state, wherever the sequence is divided. A durable event that was
/// applied before (same session, same or lower number) changes nothing.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct RunTreeView {
    pub(crate) root: Option<SessionId>,
    /// In the order in which they were first heard of.
    pub(crate) sessions: Vec<TreeSession>,
    /// In the order in which they were first heard of.
    pub(crate) runs: Vec<TreeRun>,
    /// In the order in which they were asked.
    pub(crate) inquiries: Vec<OpenInquiry>,
}

/// What an event changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TreeChange {
    /// Nothing: it was applied before, or is part of something that is known whole.
    Nothing,
    /// Its run began.
    Began,
    /// Its run ended, which was not known from itself before.
    Ended,
    /// Something else.
    Updated,
}

impl RunTreeView {
    /// The tree below this session.
    pub fn of(root: SessionId) -> Self {
        Self {
            root: Some(root),
            ..Self::default()
        }
    }

    /// Says which session is the root, if that was not known from the beginning.
    pub fn set_root(&mut self, root: &SessionId) {
        if self.root.as_ref() != Some(root) {
            self.root = Some(root.clone());
        }
    }

    /// Takes an event in. Events of unknown types change nothing but the session's head.
    pub fn apply(&mut self, event: &Event) -> TreeChange {
        if event.id.is_some_and(|id| id <= self.head(&event.session)) {
            return TreeChange::Nothing;
        }
        self.apply_to_session(event);
        let change = match &event.run {
            Some(run) => self
                .known(run, || TreeRun::new(event, run))
                .map_or(TreeChange::Nothing, |known| known.apply(event)),
            None => TreeChange::Updated,
        };
        self.apply_inquiry(event);
        if let EventBody::ToolCompleted(record) = &event.body {
            self.apply_task(event, record);
        }
        change
    }

    fn apply_to_session(&mut self, event: &Event) {
        let is_event = |known: &TreeSession| known.session == event.session;
        if !self.sessions.iter().any(is_event) {
            self.sessions.push(TreeSession::new(event));
        }
        if let Some(session) = self.sessions.iter_mut().find(|known| is_event(known)) {
            session.apply(event);
        }
    }

    fn apply_inquiry(&mut self, event: &Event) {
        if let Some(id) = inquiry::settled_by(&event.body) {
            self.inquiries.retain(|open| open.id() != id);
        }
        if let Some(opened) = OpenInquiry::opened_by(event) {
            self.add_inquiry(opened);
        }
        if let (EventBody::RunCompleted(_), Some(run)) = (&event.body, &event.run) {
            self.inquiries.retain(|open| open.run.as_ref() != Some(run));
        }
    }

    /// Adds an inquiry that was opened before the first event that is applied.
    pub fn add_inquiry(&mut self, opened: OpenInquiry) {
        self.inquiries.retain(|open| open.id() != opened.id());
        self.inquiries.push(opened);
    }

    /// Takes in what a call says about the run it delegated to.
    fn apply_task(&mut self, event: &Event, record: &ToolRecord) {
        let Some(note) = started_by(record) else {
            return;
        };
        let new = || TreeRun {
            session: note.session.clone(),
            agent: note.agent.clone(),
            parent_run: event.run.clone(),
            parent: event.run.clone().map(|run| ParentCall {
                session: event.session.clone(),
                run,
                call: record.call.clone(),
            }),
            phase: RunPhase::Queued,
            ..TreeRun::new(event, &note.task)
        };
        if let Some(known) = self.known(&note.task, new) {
            known.report(ReportedEnd::of(note, record));
        }
    }

    fn known(&mut self, run: &RunId, new: impl FnOnce() -> TreeRun) -> Option<&mut TreeRun> {
        let at = self.runs.iter().rposition(|known| known.run == *run);
        let at = at.unwrap_or_else(|| {
            self.runs.push(new());
            self.runs.len() - 1
        });
        self.runs.get_mut(at)
    }

    /// Takes over what another fold of the same journal knows of a run.
    pub fn adopt(&mut self, run: TreeRun) {
        match self.runs.iter_mut().find(|known| known.run == run.run) {
            Some(known) => *known = run,
            None => self.runs.push(run),
        }
    }

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
            run.parent
                .as_ref()
                .is_some_and(|parent| parent.call == call)
        })
    }

    /// The runs that a run delegated.
    pub fn started_by_run<'a>(&'a self, run: &'a RunId) -> impl Iterator<Item = &'a TreeRun> {
        self.runs.iter().filter(move |below| {
            below
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
            match self.run(current).and_then(|known| known.parent.as_ref()) {
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

/// What a call says about a run that it began itself, and not about one it only asked after.
fn started_by(record: &ToolRecord) -> Option<&TaskNote> {
    let began = RunId::derived_from(record.call.as_str());
    record
        .task
        .as_ref()
        .filter(|note| note.task == began && !note.cached)
}

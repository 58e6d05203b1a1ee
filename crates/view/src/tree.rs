//! The run tree: applies events to sessions, runs and open inquiries.

use std::collections::BTreeSet;

use rooftree_protocol::{
    Event, EventBody, ParentCall, RunId, Session, SessionId,
    event::{TaskNote, ToolRecord},
};
use serde::Deserialize;

use crate::{
    OpenInquiry, RunOrigin, SessionSnapshot, TreeRun, TreeSession, inquiry,
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

    /// Takes in the metadata of a session: its name, and whether it is deleted. The journal does not tell them.
    pub fn apply_meta(&mut self, meta: &Session) {
        match self
            .sessions
            .iter_mut()
            .find(|known| known.session == meta.id)
        {
            Some(session) => session.apply_meta(meta),
            None => self.sessions.push(TreeSession::of(meta)),
        }
    }

    /// Takes in a snapshot of a session: what came of the events before its head, which may not have been applied.
    pub fn apply_snapshot(&mut self, snapshot: &SessionSnapshot) {
        let id = &snapshot.session;
        self.apply_meta(&snapshot.meta);
        if let Some(run) = &snapshot.run
            && let Some(id) = &run.run
            && self.run(id).is_none()
            && let Some(known) = self.known(id, || TreeRun::new(run, id))
        {
            known.apply(run);
        }
        if let Some(session) = self.sessions.iter_mut().find(|known| known.session == *id) {
            session.head = session.head.max(snapshot.head);
        }
        self.inquiries.retain(|open| open.session != *id);
        self.inquiries.extend(snapshot.pending.iter().cloned());
        for draft in &snapshot.messages {
            let run = draft.run.as_ref();
            if let Some(run) =
                run.and_then(|run| self.runs.iter_mut().find(|known| known.run == *run))
            {
                run.apply_draft(draft);
            }
        }
    }

    /// Takes in what a call says about the run it delegated to.
    fn apply_task(&mut self, event: &Event, record: &ToolRecord) {
        let Some(note) = started_by(record) else {
            return;
        };
        let new = || TreeRun {
            session: note.session.clone(),
            agent: note.agent.clone(),
            origin: RunOrigin {
                parent_run: event.run.clone(),
                parent: event.run.clone().map(|run| ParentCall {
                    session: event.session.clone(),
                    run,
                    call: record.call.clone(),
                }),
                ..RunOrigin::default()
            },
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

    /// Keeps the last so many runs of the root session. Ended runs before them are dropped, with all below them that
    /// have ended, and are no longer part of any sum.
    pub fn forget_runs(&mut self, keep: usize) {
        let Some(root) = self.root.clone() else {
            return;
        };
        let own: Vec<&TreeRun> = self.runs_in(&root).collect();
        let count = own.len().saturating_sub(keep);
        let old = own.into_iter().take(count).filter(|run| run.has_ended());
        let old: Vec<RunId> = old.map(|run| run.run.clone()).collect();
        let is_old = |run: &TreeRun| old.iter().any(|above| self.is_within(&run.run, above));
        let dropped = self
            .runs
            .iter()
            .filter(|run| run.has_ended() && is_old(run));
        let dropped: BTreeSet<RunId> = dropped.map(|run| run.run.clone()).collect();
        self.runs.retain(|run| !dropped.contains(&run.run));
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

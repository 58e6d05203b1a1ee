//! Filters the events that belong to a run and to the runs it delegated to, and detects when all have ended. Pure.

use std::collections::{HashMap, HashSet};

use rooftree_protocol::{Event, EventBody, Origin, RunId, SessionId, event::RunEnd};

/// When to stop watching.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum WatchUntil {
    /// This run has ended.
    Ended(RunId),
    /// The session rests, and has been told of everything it started.
    Rests,
}

/// What an event means to the subscriber.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct EventRelevance {
    /// It is to be shown.
    pub(crate) is_ours: bool,
    /// A session to watch from now on.
    pub(crate) opens: Option<SessionId>,
    /// A session whose events come before this one.
    pub(crate) after: Option<SessionId>,
}

/// A run, the runs below it, and how far all of them are.
pub(crate) struct RunTree {
    root: SessionId,
    until: WatchUntil,
    runs: HashSet<RunId>,
    /// The last durable event shown of each session.
    shown: HashMap<SessionId, u64>,
    is_running: bool,
    /// Tasks the root has started and not been told the end of.
    untold: HashSet<RunId>,
    /// How the root's runs ended, in order.
    ends: Vec<(RunId, RunEnd)>,
}

impl RunTree {
    pub(crate) fn new(root: SessionId, until: WatchUntil) -> Self {
        let (runs, shown, untold) = (HashSet::new(), HashMap::new(), HashSet::new());
        Self {
            root,
            until,
            runs,
            shown,
            is_running: true,
            untold,
            ends: Vec::new(),
        }
    }

    pub(crate) fn is_over(&self) -> bool {
        match &self.until {
            WatchUntil::Ended(run) => self.ends.iter().any(|(ended, _)| ended == run),
            WatchUntil::Rests => !self.is_running && self.untold.is_empty(),
        }
    }

    /// How the root's runs ended, in order. To be asked once.
    pub(crate) fn ends(&mut self) -> Vec<(RunId, RunEnd)> {
        std::mem::take(&mut self.ends)
    }

    /// The last durable event that was shown of a session.
    pub(crate) fn shown(&self, session: &SessionId) -> u64 {
        self.shown.get(session).copied().unwrap_or_default()
    }

    /// What an event will mean, before it is taken.
    pub(crate) fn classify(&self, event: &Event) -> EventRelevance {
        let is_new = event.id.is_none_or(|id| id > self.shown(&event.session));
        if !is_new || !self.is_ours(event) {
            return EventRelevance::default();
        }
        let (mut opens, mut after) = (None, None);
        match &event.body {
            // A delegated session has the name of the call that asks for it.
            EventBody::ToolStarted { call, tool, .. } if tool == "Task" => {
                opens = Some(SessionId::derived_from(call.as_str()));
            }
            EventBody::ToolCompleted(record) => {
                let task = record.task.as_ref();
                opens = task.map(|task| task.session.clone());
                after = task
                    .filter(|task| task.status.is_some())
                    .map(|task| task.session.clone());
            }
            EventBody::MessageUser { message, .. } => {
                if let Origin::Task { session, .. } = &message.origin {
                    after = Some(session.clone());
                }
            }
            _ => {}
        }
        EventRelevance {
            is_ours: true,
            opens,
            after,
        }
    }

    /// Takes an event that is ours.
    pub(crate) fn take(&mut self, event: &Event) {
        if let Some(id) = event.id {
            self.shown.insert(event.session.clone(), id);
        }
        self.runs.extend(event.run.clone());
        if event.session == self.root {
            self.take_of_root(event);
        }
    }

    fn take_of_root(&mut self, event: &Event) {
        match (&event.body, &event.run) {
            (EventBody::RunStarted { .. }, _) => self.is_running = true,
            (EventBody::RunCompleted(end), Some(run)) => {
                self.is_running = false;
                self.ends.push((run.clone(), end.clone()));
            }
            (EventBody::ToolCompleted(record), _) => match &record.task {
                Some(task) if task.status.is_none() => {
                    self.untold.insert(task.task.clone());
                }
                Some(task) => {
                    self.untold.remove(&task.task);
                }
                None => {}
            },
            (EventBody::InboxDelivered { task, .. }, _) => {
                self.untold.remove(task);
            }
            (EventBody::MessageUser { message, .. }, _) => {
                if let Origin::Task { task, .. } = &message.origin {
                    self.untold.remove(task);
                }
            }
            _ => {}
        }
    }

    fn is_ours(&self, event: &Event) -> bool {
        let is_known = |run: &RunId| self.runs.contains(run);
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

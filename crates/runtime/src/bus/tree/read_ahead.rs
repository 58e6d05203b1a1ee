//! Reads a child's journal ahead of its subscription, before the event that tells the child's result.
//!
//! Invariant: the events of a delegated run are delivered before the event that tells its result, and no delta is
//! delivered after the message it is part of.

use std::sync::Arc;

use rooftree_protocol::{Event, EventBody, Origin, RunId, SessionId, event::TaskNote};

use super::TreeSubscription;
use crate::{Error, bus::PAGE};

impl TreeSubscription {
    /// The next event that is held, once the runs whose results it tells were delivered.
    pub(super) async fn next_held(&mut self) -> Result<Option<Arc<Event>>, Error> {
        loop {
            let Some(event) = self.held.last() else {
                return Ok(None);
            };
            match self.unheard_result(event) {
                Some((session, run)) => self.read_ahead(&session, run).await?,
                None => break,
            }
        }
        let event = self.held.pop();
        if let Some(event) = &event {
            self.has_begun = true;
            self.note(event);
        }
        Ok(event)
    }

    /// A run whose result an event tells, and whose own end was not delivered.
    fn unheard_result(&self, event: &Event) -> Option<(SessionId, RunId)> {
        // A message may bring the result of a run from before the subscription, which is not delivered.
        let is_message = matches!(event.body, EventBody::MessageUser { .. });
        results_in(&event.body).into_iter().find(|(session, run)| {
            *session != event.session
                && !self.ended.contains(run)
                && (!is_message || self.watched.contains_key(session))
        })
    }

    /// Reads what a session's journal holds beyond what was delivered. Its end is in it: it is stored before the
    /// result is told. Nothing is changed before the last wait is over.
    async fn read_ahead(&mut self, session: &SessionId, run: RunId) -> Result<(), Error> {
        if !self.watched.contains_key(session) {
            self.find_run(run.clone()).await?;
        }
        if let Some(after) = self.watched.get(session).copied() {
            let mut events = Vec::new();
            let mut last = after;
            loop {
                let page = self.store.events(session, last, PAGE).await?;
                let is_whole = page.len() < PAGE;
                last = page.last().and_then(|event| event.id).unwrap_or(last);
                events.extend(page.into_iter().map(Arc::new));
                if is_whole {
                    break;
                }
            }
            self.store.settled().await?;
            if last > after {
                self.ahead.insert(session.clone(), last);
            }
            self.held.extend(events.into_iter().rev());
        }
        self.ended.insert(run);
        Ok(())
    }

    /// Whether an event was delivered from the journal already, or is a piece of what was.
    pub(super) fn was_read_ahead(&mut self, event: &Event) -> bool {
        let Some(upto) = self.ahead.get(&event.session).copied() else {
            return false;
        };
        match event.id {
            Some(id) if id >= upto => {
                self.ahead.remove(&event.session);
                id == upto
            }
            Some(_) | None => true,
        }
    }
}

/// The runs whose results an event tells, and their sessions.
fn results_in(body: &EventBody) -> Vec<(SessionId, RunId)> {
    let of_note = |note: &TaskNote| {
        let is_result = note.status.is_some() && !note.cached;
        is_result.then(|| (note.session.clone(), note.task.clone()))
    };
    match body {
        EventBody::ToolCompleted(record) => record.task.iter().filter_map(of_note).collect(),
        EventBody::RunVerified(verdict) => {
            let notes = verdict
                .reports
                .iter()
                .filter_map(|report| report.task.as_ref());
            notes.filter_map(of_note).collect()
        }
        EventBody::MessageUser { message, .. } => match &message.origin {
            Origin::Task { session, task, .. } => vec![(session.clone(), task.clone())],
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

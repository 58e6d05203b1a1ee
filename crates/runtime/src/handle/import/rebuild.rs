//! Turns an archive's events into a journal that a store accepts. Pure.
//!
//! Events keep their content and order. They get the new session's id; messages get the next
//! places of their lanes, because a fork's journal counts them twice; and a run that the
//! archive leaves open is closed, so that importing never makes an agent go on by surprise. What an archive says
//! about rights is left out.

use std::collections::BTreeMap;

use rooftree_protocol::{
    CallId, Event, EventBody, Lane, Message, MessageId, Origin, RunId, SessionId, Timestamp,
    command::ExportedSession,
};

use super::strip_rights::strip_rights;
use crate::{
    agent::history::History,
    handle::close_run::{self, EventEnvelope},
};

/// An event of an export that could not have happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImportError {
    /// Which one, from 0.
    pub index: usize,
    /// Why.
    pub why: &'static str,
}

/// Whether an export could have happened.
pub fn check(exported: &ExportedSession) -> Result<(), ImportError> {
    journal(exported, &exported.session.id).map(drop)
}

/// What is to be posted and appended.
#[derive(Default)]
pub(super) struct RebuiltJournal {
    /// Messages for the inbox, in the order they were taken.
    pub(super) posts: Vec<(Lane, Message)>,
    pub(super) events: Vec<Event>,
    /// The places of those messages.
    pub(super) taken: Vec<(Lane, u64)>,
}

/// Rebuilds a journal under a new id; refuses one that could not have happened.
pub(super) fn journal(
    archive: &ExportedSession,
    id: &SessionId,
) -> Result<RebuiltJournal, ImportError> {
    let mut rebuild = JournalRebuilder {
        id: id.clone(),
        agent: archive.session.agent.clone(),
        history: History::default(),
        run: None,
        calls: BTreeMap::new(),
        lanes: BTreeMap::new(),
        rebuilt: RebuiltJournal::default(),
    };
    let mut last = archive.session.created_at;
    for (index, event) in archive.events.iter().enumerate() {
        rebuild
            .check(event)
            .map_err(|why| ImportError { index, why })?;
        let branches = matches!(
            event.body,
            EventBody::SessionOpened {
                forked_from: Some(_),
                ..
            }
        );
        if branches {
            rebuild.close(last);
        }
        if let Some(event) = strip_rights(event.clone()) {
            rebuild.take(event);
        }
        last = event.ts;
    }
    rebuild.close(last);
    Ok(rebuild.rebuilt)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum CallCompletion {
    No,
    Yes,
}

struct JournalRebuilder {
    id: SessionId,
    agent: String,
    history: History,
    run: Option<RunId>,
    /// The calls of the open run, and whether they have their result.
    calls: BTreeMap<CallId, CallCompletion>,
    /// How many messages came by each lane.
    lanes: BTreeMap<Lane, u64>,
    rebuilt: RebuiltJournal,
}

impl JournalRebuilder {
    /// Whether the event can come here. The rules are those of `rooftree doctor verify`.
    fn check(&mut self, event: &Event) -> Result<(), &'static str> {
        if !event.body.is_durable() {
            return Err("such an event is never kept in a journal");
        }
        match &event.body {
            EventBody::RunStarted { .. } if event.run.is_none() => {
                return Err("a run without an id starts");
            }
            EventBody::RunStarted { .. } if self.run.is_some() => {
                return Err("a run starts within another one");
            }
            EventBody::RunStarted { .. } => self.run.clone_from(&event.run),
            EventBody::RunCompleted(_) if self.run.is_none() || self.run != event.run => {
                return Err("a run ends that did not start");
            }
            EventBody::RunCompleted(_)
                if self
                    .calls
                    .values()
                    .any(|answered| *answered == CallCompletion::No) =>
            {
                return Err("a run ends with a tool call that has no result");
            }
            EventBody::RunCompleted(_) => {
                self.run = None;
                self.calls.clear();
            }
            EventBody::MessageCompleted(reply) => {
                for call in reply.calls() {
                    if self
                        .calls
                        .insert(call.id.clone(), CallCompletion::No)
                        .is_some()
                    {
                        return Err("a tool call has the id of another one");
                    }
                }
            }
            EventBody::ToolStarted {
                call,
                inside: Some(_),
                ..
            } => return self.begin(call.clone()),
            // A call from inside another one that was refused has no intent.
            EventBody::ToolCompleted(record)
                if record.inside.is_some() && !self.calls.contains_key(&record.call) =>
            {
                self.calls.insert(record.call.clone(), CallCompletion::Yes);
            }
            EventBody::ToolCompleted(record) => return self.answer(record.call.clone()),
            _ => {}
        }
        Ok(())
    }

    /// A call from inside another one is in no reply.
    fn begin(&mut self, call: CallId) -> Result<(), &'static str> {
        let is_known = self.calls.insert(call, CallCompletion::No).is_some();
        if is_known {
            Err("a tool call has the id of another one")
        } else {
            Ok(())
        }
    }

    fn answer(&mut self, call: CallId) -> Result<(), &'static str> {
        match self.calls.insert(call, CallCompletion::Yes) {
            Some(CallCompletion::No) => Ok(()),
            Some(CallCompletion::Yes) => Err("a tool call has a second result"),
            None => Err("a result belongs to no tool call"),
        }
    }

    /// Appends an event of the archive.
    fn take(&mut self, mut event: Event) {
        // A withdrawn message was never read: the new inbox has no place for it.
        if matches!(event.body, EventBody::InboxDropped { .. }) {
            return;
        }
        if let EventBody::MessageUser {
            message,
            lane,
            position,
        } = &mut event.body
        {
            let last = self.lanes.entry(*lane).or_default();
            *last += 1;
            *position = *last;
            self.rebuilt.posts.push((*lane, message.clone()));
            self.rebuilt.taken.push((*lane, *position));
        }
        let at = event.ts;
        if let EventBody::InboxDelivered {
            message,
            lane,
            position,
            ..
        } = &mut event.body
        {
            let last = self.lanes.entry(*lane).or_default();
            *last += 1;
            *position = *last;
            self.rebuilt
                .posts
                .push((*lane, delivered(message.clone(), at)));
            self.rebuilt.taken.push((*lane, *position));
        }
        self.push(event);
    }

    /// Ends the run that is open, if one is.
    fn close(&mut self, at: Timestamp) {
        let (session, agent) = (self.id.clone(), self.agent.clone());
        let envelope = EventEnvelope {
            session: &session,
            agent: &agent,
            run: self.run.take(),
            ts: at,
        };
        for body in close_run::interruption(&self.history, at) {
            self.push(envelope.around(body));
        }
        self.calls.clear();
    }

    fn push(&mut self, mut event: Event) {
        event.session.clone_from(&self.id);
        event.id = Some(self.rebuilt.events.len() as u64 + 1);
        self.history.apply(&event);
        self.rebuilt.events.push(event);
    }
}

/// The place in an inbox of a message that a call has told already. Its text is in the result of that call, and not in
/// the archive.
fn delivered(id: MessageId, at: Timestamp) -> Message {
    Message {
        id,
        parts: Vec::new(),
        origin: Origin::System {
            about: "delivered".into(),
        },
        outside: false,
        silent: true,
        context: None,
        mandate: None,
        call: None,
        restriction: None,
        revision: 0,
        who: None,
        at,
    }
}

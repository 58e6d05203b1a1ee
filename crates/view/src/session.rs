//! State of one session of a run tree: its name, its todos, what waits in its inbox, how far its journal was read.

use std::collections::VecDeque;

use rooftree_protocol::{
    Event, EventBody, ForkPoint, MessageId, Origin, PermissionMode, RunId, Session, SessionId,
    Todo, event::ToolRecord,
};
use serde::{Deserialize, Serialize};

use crate::run_parts::{NOTICES, TreeNotice, push_bounded};

/// One session, folded from its events.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TreeSession {
    /// Which one.
    pub session: SessionId,
    /// Its definition.
    pub agent: String,
    /// What people call it.
    pub name: Option<String>,
    /// Whose journal it continues.
    pub forked_from: Option<ForkPoint>,
    /// Whether it is deleted.
    pub is_deleted: bool,
    /// The number of the last durable event that was applied; zero before the first.
    pub head: u64,
    /// The permission mode, if it was changed.
    pub mode: Option<PermissionMode>,
    /// Messages known to wait in the inbox, oldest first.
    pub queued: Vec<MessageId>,
    /// Background tasks it started and has not been told the end of.
    pub awaiting: Vec<RunId>,
    /// Its todo list.
    pub todos: Vec<Todo>,
    /// How full the model's context window is.
    pub context: Option<ContextFill>,
    /// How often its context was started anew.
    pub clears: u32,
    /// How often its context was made smaller.
    pub compactions: u32,
    /// The last notices outside of a run.
    pub notices: VecDeque<TreeNotice>,
}

/// Tokens in a context window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextFill {
    /// Tokens in use.
    pub used: u64,
    /// Tokens there are.
    pub limit: u64,
}

impl TreeSession {
    pub(crate) fn new(event: &Event) -> Self {
        Self::empty(event.session.clone(), event.agent.clone())
    }

    /// A session whose events were not applied.
    pub(crate) fn of(meta: &Session) -> Self {
        let mut session = Self::empty(meta.id.clone(), meta.agent.clone());
        session.forked_from.clone_from(&meta.forked_from);
        session.apply_meta(meta);
        session
    }

    pub(crate) fn apply_meta(&mut self, meta: &Session) {
        self.name.clone_from(&meta.name);
        self.is_deleted = meta.deleted_at.is_some();
    }

    fn empty(session: SessionId, agent: String) -> Self {
        Self {
            session,
            agent,
            name: None,
            forked_from: None,
            is_deleted: false,
            head: 0,
            mode: None,
            queued: Vec::new(),
            awaiting: Vec::new(),
            todos: Vec::new(),
            context: None,
            clears: 0,
            compactions: 0,
            notices: VecDeque::new(),
        }
    }

    pub(crate) fn apply(&mut self, event: &Event) {
        self.head = event.id.unwrap_or(self.head);
        match &event.body {
            EventBody::SessionOpened {
                name, forked_from, ..
            } => {
                self.name.clone_from(name);
                self.forked_from.clone_from(forked_from);
            }
            EventBody::SessionUpdated { name, deleted } => {
                self.name.clone_from(name);
                self.is_deleted = *deleted;
            }
            EventBody::SessionCleared { .. } => self.clears += 1,
            EventBody::ContextCompacted(_) => self.compactions += 1,
            EventBody::ContextUsage { used, limit, .. } => {
                let (used, limit) = (*used, *limit);
                self.context = Some(ContextFill { used, limit });
            }
            EventBody::ModeChanged { mode, .. } => self.mode = *mode,
            EventBody::TodoUpdated { items } => self.todos.clone_from(items),
            EventBody::Notice { .. } if event.run.is_none() => {
                push_bounded(&mut self.notices, TreeNotice::of(event), NOTICES);
            }
            _ => self.apply_message(event),
        }
    }

    /// What waits in the inbox, and which tasks the session waits to be told of.
    fn apply_message(&mut self, event: &Event) {
        match &event.body {
            EventBody::InboxQueued { message, .. } if !self.queued.contains(message) => {
                self.queued.push(message.clone());
            }
            EventBody::InboxDelivered { message, task, .. } => {
                self.take_message(message);
                self.told_of(task);
            }
            EventBody::RunStarted { message, .. } | EventBody::InboxDropped { message, .. } => {
                self.take_message(message);
            }
            EventBody::MessageUser { message, .. } => {
                self.take_message(&message.id);
                if let Origin::Task { task, .. } = &message.origin {
                    self.told_of(task);
                }
            }
            EventBody::ToolCompleted(record) => self.apply_task(record),
            _ => {}
        }
    }

    fn apply_task(&mut self, record: &ToolRecord) {
        match &record.task {
            Some(note) if note.status.is_some() => self.told_of(&note.task),
            Some(note) if !self.awaiting.contains(&note.task) => {
                self.awaiting.push(note.task.clone());
            }
            _ => {}
        }
    }

    fn take_message(&mut self, message: &MessageId) {
        self.queued.retain(|queued| queued != message);
    }

    fn told_of(&mut self, task: &RunId) {
        self.awaiting.retain(|awaited| awaited != task);
    }
}

//! Tells from the disk alone in which window a worker was killed.

use std::collections::HashSet;

use rooftree_protocol::{Event, EventBody};

use crate::fixture::Sight;

/// Between which two durable facts a kill came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Window {
    /// A message is accepted and not taken.
    AcceptToTake,
    /// The model is to be asked, or has been and its reply is not stored.
    ModelCall,
    /// A reply with calls is stored, none of the open ones was begun.
    ReplyToIntent,
    /// A call was begun and has no result.
    IntentToResult,
    /// The last reply is stored and the run is not settled.
    ReplyToSettle,
    /// Nothing was left to do.
    Rest,
}

impl Window {
    pub const ALL: [Self; 6] = [
        Self::AcceptToTake,
        Self::ModelCall,
        Self::ReplyToIntent,
        Self::IntentToResult,
        Self::ReplyToSettle,
        Self::Rest,
    ];

    /// Those that must each be hit often.
    pub const REQUIRED: [Self; 4] = [
        Self::AcceptToTake,
        Self::ModelCall,
        Self::IntentToResult,
        Self::ReplyToSettle,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::AcceptToTake => "accept → take",
            Self::ModelCall => "model call",
            Self::ReplyToIntent => "reply → intent",
            Self::IntentToResult => "intent → result",
            Self::ReplyToSettle => "reply → settle",
            Self::Rest => "at rest",
        }
    }
}

/// The window the disk is in.
pub fn of(sight: &Sight) -> Window {
    let at_rest = if sight.waiting.is_empty() {
        Window::Rest
    } else {
        Window::AcceptToTake
    };
    of_run(&sight.events).unwrap_or(at_rest)
}

/// The window the open run of a journal is in; none if none is open.
pub fn of_run(events: &[Event]) -> Option<Window> {
    let started = events
        .iter()
        .rposition(|event| event.body.name() == "run.started")?;
    let open = events.get(started..).unwrap_or_default();
    if open
        .iter()
        .any(|event| event.body.name() == "run.completed")
    {
        return None;
    }
    let (mut calls, mut begun) = (HashSet::new(), HashSet::new());
    let mut answered = false;
    for event in open {
        match &event.body {
            EventBody::MessageCompleted(reply) => {
                calls.extend(reply.calls().map(|call| call.id.clone()));
                answered = reply.calls().next().is_none();
            }
            EventBody::ToolStarted { call, .. } => {
                begun.insert(call.clone());
            }
            EventBody::ToolCompleted(record) => {
                calls.remove(&record.call);
                begun.remove(&record.call);
            }
            _ => {}
        }
    }
    Some(match (answered, calls.is_empty(), begun.is_empty()) {
        (true, ..) => Window::ReplyToSettle,
        (_, true, _) => Window::ModelCall,
        (_, false, true) => Window::ReplyToIntent,
        (_, false, false) => Window::IntentToResult,
    })
}

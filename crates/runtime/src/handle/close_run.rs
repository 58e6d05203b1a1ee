//! Events to append to a journal so that no run, call or request in it is left open.
//!
//! The runtime does this for sessions it wakes. Clearing and importing must not wake an agent, because then a
//! half-finished run would go on, so they close it themselves.

use rooftree_protocol::{
    Answer, Event, EventBody, Outcome, Part, PermissionId, QuestionId, QuestionReply, RunId,
    RunStatus, Session, SessionId, Timestamp,
    event::{self, RunEnd, ToolRecord},
};

use crate::agent::history::History;

/// The first event of a journal that has none of its own yet.
pub(super) fn opening(session: &Session) -> Option<EventBody> {
    let begins_at = session.forked_from.as_ref().map_or(0, |point| point.at);
    (session.head == begins_at).then(|| EventBody::SessionOpened {
        agent: session.agent.clone(),
        name: session.name.clone(),
        forked_from: session.forked_from.clone(),
    })
}

/// A question is taken back.
fn withdrawn(id: &str) -> Option<EventBody> {
    let by = "interrupted".to_owned();
    if let Ok(id) = PermissionId::parse(id) {
        return Some(EventBody::PermissionResolved {
            id,
            answer: Answer::deny(None),
            by,
        });
    }
    let reply = QuestionReply::Declined { because: None };
    Some(EventBody::QuestionAnswered {
        id: QuestionId::parse(id).ok()?,
        reply,
        by,
    })
}

/// Events that end the open run, if there is one: its request is withdrawn, each call gets its one result,
/// and the run is interrupted.
pub(super) fn interruption(history: &History, now: Timestamp) -> Vec<EventBody> {
    let Some(run) = history.run() else {
        return Vec::new();
    };
    let mut bodies = Vec::new();
    bodies.extend(
        run.waits
            .asked
            .iter()
            .filter(|asked| !asked.settled)
            .filter_map(|asked| withdrawn(&asked.id)),
    );
    let mut calls = run.progress.calls;
    for open in history.open_calls().chain(history.inner_calls()) {
        let (outcome, words) = match open.intent {
            Some(_) => (Outcome::Unknown, "unknown: interrupted"),
            None => (Outcome::Cancelled, "[cancelled]"),
        };
        bodies.push(EventBody::ToolCompleted(ToolRecord {
            call: open.call.id.clone(),
            tool: open.call.tool.clone(),
            title: String::new(),
            outcome,
            content: vec![Part::text(words)],
            duration_ms: 0,
            full: None,
            inside: open.inside.clone(),
            input: None,
            skill: None,
            files: Vec::new(),
            diff: None,
            task: None,
            usage: None,
        }));
        calls += 1;
    }
    bodies.push(EventBody::RunCompleted(RunEnd {
        calls,
        ..run.end(RunStatus::Interrupted, now)
    }));
    bodies
}

/// What events that are appended together have in common.
pub(super) struct EventEnvelope<'a> {
    pub(super) session: &'a SessionId,
    pub(super) agent: &'a str,
    pub(super) run: Option<RunId>,
    pub(super) ts: Timestamp,
}

impl EventEnvelope<'_> {
    /// An event that is numbered when its place is known.
    pub(super) fn around(&self, body: EventBody) -> Event {
        Event {
            v: event::VERSION,
            id: None,
            ts: self.ts,
            session: self.session.clone(),
            run: self.run.clone(),
            parent_run: None,
            agent: self.agent.to_owned(),
            who: None,
            body,
        }
    }
}

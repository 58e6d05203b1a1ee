//! Events for the tables in this folder's tests, made with as few words as possible.

use rooftree_protocol::{
    CallId, Event, EventBody, Lane, Message, MessageId, Origin, Outcome, Part, RunId, SessionId,
    Timestamp, ToolCall, Usage,
    event::{ReplyPart, ReplyRecord, RunMode, StopReason, ToolRecord},
};

use super::History;

pub(super) fn folded(events: &[Event]) -> History {
    let mut history = History::default();
    events.iter().for_each(|event| history.apply(event));
    history
}

pub(super) fn event(body: EventBody) -> Event {
    Event {
        v: 1,
        id: None,
        ts: Timestamp(0),
        session: SessionId::from_entropy(1),
        run: Some(RunId::from_entropy(1)),
        parent_run: None,
        agent: "lead".into(),
        who: None,
        body,
    }
}

pub(super) fn started() -> Event {
    let message = MessageId::from_entropy(1);
    event(EventBody::RunStarted {
        mode: RunMode::Main,
        message,
        model: String::new(),
        title: String::new(),
        depth: 0,
        parent: None,
        policy: None,
        bounds: None,
        surroundings: None,
    })
}

pub(super) fn user(text: &str) -> Event {
    let (id, parts) = (MessageId::from_entropy(1), vec![Part::text(text)]);
    let message = Message {
        id,
        parts,
        origin: Origin::User,
        silent: false,
        outside: false,
        context: None,
        mandate: None,
        call: None,
        restriction: None,
        revision: 0,
        who: None,
        at: Timestamp(0),
    };
    event(EventBody::MessageUser {
        message,
        lane: Lane::Mail,
        position: 1,
    })
}

/// A message that wants a call of this name made.
pub(super) fn directed(name: &str) -> Event {
    let mut event = user("Call it");
    if let EventBody::MessageUser { message, .. } = &mut event.body {
        let call = ToolCall {
            id: call_id(name),
            tool: name.into(),
            input: serde_json::json!({}),
        };
        message.call = Some(Box::new(call));
    }
    event
}

pub(super) fn call_id(name: &str) -> CallId {
    CallId::parse(&format!("call_{name}")).unwrap()
}

/// A reply with these words that asks for a call of each of these names.
pub(super) fn reply(text: &str, calls: &[&str]) -> Event {
    let call = |name: &&str| ToolCall {
        id: call_id(name),
        tool: (*name).into(),
        input: serde_json::json!({}),
    };
    let mut parts = vec![ReplyPart::Text { text: text.into() }];
    parts.extend(calls.iter().map(call).map(ReplyPart::Call));
    let stop = if calls.is_empty() {
        StopReason::End
    } else {
        StopReason::Calls
    };
    event(EventBody::MessageCompleted(ReplyRecord {
        message: None,
        text: text.into(),
        parts,
        model: "scripted/x".into(),
        stop,
        usage: Usage::none(),
        request: None,
    }))
}

/// What was kept of a reply that was being given when the run was stopped.
pub(super) fn cut_short(text: &str) -> Event {
    let mut event = reply(text, &[]);
    if let EventBody::MessageCompleted(reply) = &mut event.body {
        reply.stop = StopReason::Cancelled;
    }
    event
}

pub(super) fn result(name: &str) -> Event {
    event(EventBody::ToolCompleted(ToolRecord {
        call: call_id(name),
        tool: name.into(),
        title: String::new(),
        outcome: Outcome::Done,
        content: vec![Part::text(format!("result of {name}"))],
        duration_ms: 0,
        full: None,
        inside: None,
        input: None,
        skill: None,
        files: Vec::new(),
        diff: None,
        task: None,
        usage: None,
    }))
}

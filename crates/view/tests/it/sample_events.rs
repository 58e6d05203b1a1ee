//! Events for tests, as journals hold them.

use rooftree_protocol::{
    Answer, CallId, Effect, Event, EventBody, MessageId, Outcome, ParentCall, PermissionId, Repeat,
    RunId, RunStatus, SessionId, Timestamp, ToolCall, ToolKind, Usage,
    event::{
        NoticeLevel, ReplyPart, ReplyRecord, RunEnd, RunMode, StopReason, TaskNote, ToolRecord,
        WaitReason,
    },
};
use serde_json::json;

pub fn session(number: u128) -> SessionId {
    SessionId::from_entropy(number)
}

pub fn run(number: u128) -> RunId {
    RunId::from_entropy(number)
}

pub fn call(number: u128) -> CallId {
    CallId::from_entropy(number)
}

/// An event of a session's run; `id` is its number in the journal.
pub fn event(id: Option<u64>, place: (u128, u128), body: EventBody) -> Event {
    Event {
        v: 1,
        id,
        ts: Timestamp(1_000 * i64::try_from(id.unwrap_or_default()).unwrap_or_default()),
        session: session(place.0),
        run: Some(run(place.1)),
        parent_run: None,
        agent: format!("agent{}", place.0),
        who: None,
        body,
    }
}

pub fn usage(tokens: u64) -> Usage {
    Usage {
        input: tokens,
        output: 1,
        cost_usd: 0.125,
        ..Usage::none()
    }
}

pub fn started(parent: Option<(u128, u128, u128)>, mode: RunMode) -> EventBody {
    EventBody::RunStarted {
        mode,
        message: MessageId::from_entropy(1),
        model: "m".into(),
        title: "look".into(),
        depth: 0,
        parent: parent.map(|(above, by, through)| ParentCall {
            session: session(above),
            run: run(by),
            call: call(through),
        }),
        policy: None,
        bounds: None,
        surroundings: None,
    }
}

pub fn completed(status: RunStatus, text: &str) -> EventBody {
    EventBody::RunCompleted(RunEnd {
        text: text.into(),
        turns: 1,
        usage: usage(10),
        duration_ms: 1_200,
        ..RunEnd::new(status)
    })
}

pub fn delta(text: &str) -> EventBody {
    EventBody::MessageDelta {
        text: text.into(),
        place: None,
    }
}

pub fn reply(text: &str, stop: StopReason, calls: &[u128]) -> EventBody {
    let part = |number: &u128| {
        ReplyPart::Call(ToolCall {
            id: call(*number),
            tool: "Read".into(),
            input: json!({}),
        })
    };
    EventBody::MessageCompleted(ReplyRecord {
        message: None,
        text: text.into(),
        parts: calls.iter().map(part).collect(),
        model: "m".into(),
        stop,
        usage: usage(3),
        request: None,
    })
}

pub fn tool_started(number: u128) -> EventBody {
    EventBody::ToolStarted {
        call: call(number),
        tool: "Read".into(),
        kind: ToolKind::Read,
        title: "a.txt".into(),
        input: json!({}),
        effect: Effect::ReadOnly,
        repeat: Repeat::AtMostOnce,
        permitted: String::new(),
        inside: None,
        before: Vec::new(),
    }
}

pub fn tool_completed(number: u128, task: Option<TaskNote>) -> EventBody {
    EventBody::ToolCompleted(ToolRecord {
        call: call(number),
        tool: "Read".into(),
        title: "a.txt".into(),
        outcome: Outcome::Done,
        content: Vec::new(),
        duration_ms: 5,
        full: None,
        files: Vec::new(),
        diff: None,
        task,
        inside: None,
        input: None,
        skill: None,
        usage: None,
    })
}

/// What the call with this number tells of the run that it delegated.
pub fn note(number: u128, status: Option<RunStatus>) -> TaskNote {
    TaskNote {
        task: run(number),
        session: session(number),
        agent: "helper".into(),
        status,
        verified: None,
        usage: None,
        share: None,
        outside: false,
        cached: false,
    }
}

pub fn waiting(reason: WaitReason) -> EventBody {
    EventBody::RunWaiting {
        reason,
        until: None,
        detail: "later".into(),
        told: None,
    }
}

pub fn permission(number: u128) -> EventBody {
    EventBody::PermissionRequested {
        id: PermissionId::from_entropy(number),
        call: call(number),
        tool: "Bash".into(),
        title: "make".into(),
        detail: String::new(),
        effect: Effect::LocalMutation,
        rule: String::new(),
        until: Timestamp(0),
        reason: String::new(),
        digest: String::new(),
        scopes: Vec::new(),
        kind: Default::default(),
        spawn: Vec::new(),
    }
}

pub fn resolved(number: u128) -> EventBody {
    EventBody::PermissionResolved {
        id: PermissionId::from_entropy(number),
        answer: Answer::deny(None),
        by: "user".into(),
    }
}

pub fn notice(code: &str) -> EventBody {
    EventBody::Notice {
        level: NoticeLevel::Info,
        code: code.into(),
        message: "something".into(),
        hint: None,
    }
}

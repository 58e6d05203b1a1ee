//! Tests of the answer stream with made-up events.

use std::sync::atomic::{AtomicU64, Ordering};

use rooftree_protocol::{
    ParentCall, PermissionId, Timestamp,
    event::{ReplyPart, RunEnd},
};

use super::*;

fn root() -> SessionId {
    SessionId::from_entropy(1)
}

fn child() -> SessionId {
    SessionId::from_entropy(2)
}

fn run(number: u128) -> RunId {
    RunId::from_entropy(number)
}

fn telling(detail: AnswerDetail) -> AnswerFold {
    AnswerFold::new(root(), run(1), detail)
}

fn event(session: SessionId, run: RunId, body: EventBody) -> Event {
    // Journals number their events.
    static LAST: AtomicU64 = AtomicU64::new(0);
    let id = body
        .is_durable()
        .then(|| LAST.fetch_add(1, Ordering::Relaxed) + 1);
    let agent = "reviewer".into();
    Event {
        v: 1,
        id,
        ts: Timestamp(10),
        session,
        run: Some(run),
        parent_run: None,
        agent,
        who: None,
        body,
    }
}

fn own(body: EventBody) -> Event {
    event(root(), run(1), body)
}

fn delta(text: &str) -> Event {
    own(EventBody::MessageDelta {
        text: text.into(),
        place: None,
    })
}

fn reply(text: &str, stop: StopReason) -> Event {
    let parts = vec![ReplyPart::Text { text: text.into() }];
    let (model, usage) = (
        "m".into(),
        Usage {
            input: 3,
            output: 2,
            ..Usage::none()
        },
    );
    own(EventBody::MessageCompleted(ReplyRecord {
        message: None,
        text: text.into(),
        parts,
        model,
        stop,
        usage,
        request: None,
    }))
}

fn waits() -> Event {
    own(EventBody::RunWaiting {
        reason: WaitReason::Retry,
        until: None,
        detail: String::new(),
        told: None,
    })
}

fn started(mode: RunMode) -> Event {
    let call = rooftree_protocol::CallId::from_entropy(1);
    let parent = Some(ParentCall {
        session: root(),
        run: run(1),
        call,
    });
    let message = rooftree_protocol::MessageId::from_entropy(1);
    let (model, title) = (String::new(), String::new());
    let body = EventBody::RunStarted {
        mode,
        message,
        model,
        title,
        depth: 1,
        parent,
        policy: None,
        bounds: None,
        surroundings: None,
    };
    event(child(), run(2), body)
}

fn asks(session: SessionId, run: RunId, number: u128) -> Event {
    let body = EventBody::PermissionRequested {
        id: PermissionId::from_entropy(number),
        call: rooftree_protocol::CallId::from_entropy(number),
        tool: "Bash".into(),
        title: "make".into(),
        detail: String::new(),
        effect: rooftree_protocol::Effect::ReadOnly,
        rule: String::new(),
        until: Timestamp(0),
        reason: String::new(),
        digest: String::new(),
        scopes: Vec::new(),
        kind: Default::default(),
        spawn: Vec::new(),
    };
    event(session, run, body)
}

fn text(telling: &mut AnswerFold, events: &[Event]) -> String {
    let told = events.iter().filter_map(|event| telling.apply_event(event));
    told.map(|told| {
        if let AnswerPiece::Text(text) = told {
            text
        } else {
            String::new()
        }
    })
    .collect()
}

#[test]
fn pieces_and_whole_replies_are_the_same_text() {
    let first = [
        delta("Let "),
        delta("me look."),
        reply("Let me look.", StopReason::Calls),
    ];
    let second = [
        reply("", StopReason::Calls),
        delta("Found "),
        reply("Found it.", StopReason::MaxOutput),
    ];
    let third = [reply(" And more.", StopReason::End)];
    let all: Vec<Event> = [first.as_slice(), &second, &third].concat();
    let kept: Vec<Event> = all
        .iter()
        .filter(|event| event.id.is_some())
        .cloned()
        .collect();
    let expected = "Let me look.\n\nFound it. And more.";
    assert_eq!(text(&mut telling(AnswerDetail::Answer), &all), expected);
    assert_eq!(text(&mut telling(AnswerDetail::Answer), &kept), expected);
}

#[test]
fn a_model_that_repeats_itself_is_not_told_twice() {
    let same = [
        delta("The ans"),
        waits(),
        delta("The "),
        delta("answer."),
        reply("The answer.", StopReason::End),
    ];
    assert_eq!(
        text(&mut telling(AnswerDetail::Answer), &same),
        "The answer."
    );
    let other = [
        delta("The ans"),
        waits(),
        delta("No"),
        delta("ne."),
        reply("None.", StopReason::End),
    ];
    assert_eq!(
        text(&mut telling(AnswerDetail::Answer), &other),
        "The ans\n\nNone."
    );
    let shorter = [
        delta("The ans"),
        waits(),
        delta("The"),
        reply("The", StopReason::End),
    ];
    assert_eq!(
        text(&mut telling(AnswerDetail::Answer), &shorter),
        "The ans\n\nThe"
    );
}

#[test]
fn another_run_and_another_session_say_nothing() {
    let other_run = event(
        root(),
        run(9),
        EventBody::MessageDelta {
            text: "x".into(),
            place: None,
        },
    );
    let other_session = event(
        child(),
        run(1),
        EventBody::MessageDelta {
            text: "x".into(),
            place: None,
        },
    );
    assert_eq!(
        text(
            &mut telling(AnswerDetail::AnswerAndDeeds),
            &[other_run, other_session]
        ),
        ""
    );
}

#[test]
fn what_somebody_asks_holds_the_run_up_only_if_it_waits_for_them() {
    for (mode, is_held) in [
        (RunMode::Foreground, true),
        (RunMode::Parallel, true),
        (RunMode::Background, false),
    ] {
        let mut telling = telling(AnswerDetail::Answer);
        telling.apply_event(&started(mode));
        telling.apply_event(&asks(child(), run(2), 5));
        assert_eq!(telling.blocking_inquiry().is_some(), is_held, "{mode:?}");
        assert!(telling.has_active_children());
    }
    let mut telling = telling(AnswerDetail::Answer);
    telling.apply_event(&asks(SessionId::from_entropy(77), run(7), 6));
    assert_eq!(telling.blocking_inquiry(), None, "a stranger");
    telling.apply_event(&asks(root(), run(8), 7));
    assert_eq!(
        telling.blocking_inquiry().map(OpenInquiry::about),
        Some("Bash make".into()),
        "an earlier run of the session"
    );
    let answer = rooftree_protocol::Answer::deny(None);
    let id = PermissionId::from_entropy(7);
    let resolved = EventBody::PermissionResolved {
        id,
        answer,
        by: "user".into(),
    };
    telling.apply_event(&event(root(), run(8), resolved));
    assert_eq!(telling.blocking_inquiry(), None);
}

#[test]
fn usage_is_what_the_end_says_and_before_it_what_replies_cost() {
    let mut telling = telling(AnswerDetail::Answer);
    telling.apply_event(&reply("a", StopReason::Calls));
    assert_eq!((telling.usage().input, telling.usage().output), (3, 2));
    let usage = Usage {
        input: 10,
        output: 5,
        ..Usage::none()
    };
    let end = RunEnd {
        usage,
        delegated: usage,
        ..RunEnd::new(rooftree_protocol::RunStatus::Completed)
    };
    telling.apply_event(&own(EventBody::RunCompleted(end)));
    assert_eq!((telling.usage().input, telling.usage().total()), (20, 30));
}

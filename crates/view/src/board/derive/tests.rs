//! A table of what happened to a session, and the state that follows.

use rooftree_protocol::{
    Account, CallId, Event, MessageId, PermissionId, Problem, RunId, ToolKind,
    event::{NoticeLevel, RunEnd, RunMode, VERSION},
};

use super::*;
use crate::board::{ActivityStep, BoardReasonKind as Why, BoardState as State};

const NOW: Timestamp = Timestamp(1_800_000_000_000);

fn run() -> RunId {
    RunId::from_entropy(1)
}

fn permission() -> EventBody {
    EventBody::PermissionRequested {
        id: PermissionId::from_entropy(1),
        call: CallId::from_entropy(1),
        tool: "Bash".into(),
        title: "cargo test".into(),
        detail: String::new(),
        effect: rooftree_protocol::Effect::Destructive,
        rule: String::new(),
        until: Timestamp(NOW.0 + 60_000),
        reason: String::new(),
        digest: String::new(),
        scopes: Vec::new(),
        kind: Default::default(),
        spawn: Vec::new(),
    }
}

fn started() -> EventBody {
    EventBody::RunStarted {
        mode: RunMode::Main,
        message: MessageId::from_entropy(1),
        model: "scripted".into(),
        title: "Refactor auth".into(),
        depth: 0,
        parent: None,
        policy: None,
        bounds: None,
        surroundings: None,
    }
}

fn ended(status: RunStatus, code: Option<ErrorCode>) -> EventBody {
    EventBody::RunCompleted(RunEnd {
        error: code.map(|code| Problem::new(code, "it broke")),
        ..RunEnd::new(status)
    })
}

fn refuted() -> EventBody {
    EventBody::RunCompleted(RunEnd {
        verified: Some(false),
        ..RunEnd::new(RunStatus::Completed)
    })
}

fn waits(reason: WaitReason) -> EventBody {
    EventBody::RunWaiting {
        reason,
        until: Some(Timestamp(NOW.0 + 5_000)),
        detail: String::new(),
        told: None,
    }
}

fn call(number: u128, kind: ToolKind) -> EventBody {
    EventBody::ToolStarted {
        call: CallId::from_entropy(number),
        tool: "Task".into(),
        kind,
        title: "look".into(),
        input: serde_json::Value::Null,
        effect: rooftree_protocol::Effect::ReadOnly,
        repeat: rooftree_protocol::Repeat::Pure,
        permitted: String::new(),
        inside: None,
        before: Vec::new(),
    }
}

fn tool_changed() -> EventBody {
    EventBody::Notice {
        level: NoticeLevel::Warning,
        code: "mcp_changed".into(),
        message: "MCP server `x`: its tool `y` is not what it was, and is not used:\n+ diff".into(),
        hint: None,
    }
}

fn activity(bodies: Vec<EventBody>) -> SessionActivity {
    let mut activity = SessionActivity::default();
    for (seq, body) in (1..).zip(bodies) {
        let event = Event {
            v: VERSION,
            id: Some(seq),
            ts: NOW,
            session: SessionId::from_entropy(1),
            run: Some(run()),
            parent_run: None,
            agent: "lead".into(),
            who: None,
            body,
        };
        ActivityStep::of(&event)
            .iter()
            .for_each(|step| activity.apply(step));
    }
    activity
}

fn facts(bodies: Vec<EventBody>) -> BoardFacts {
    let session = Session {
        id: SessionId::from_entropy(1),
        agent: "lead".into(),
        name: None,
        model: None,
        cwd: "/src".into(),
        parent: None,
        forked_from: None,
        pinned_at: None,
        created_at: NOW,
        updated_at: NOW,
        deleted_at: None,
        last_snippet: String::new(),
        account: Account::default(),
        chat: None,
        attributes: serde_json::Map::new(),
        head: 9,
    };
    BoardFacts {
        session,
        activity: activity(bodies),
        claim: None,
        mail_waits: false,
        inquiries: Vec::new(),
        open_children: Vec::new(),
        ended_children: EndedChildren::default(),
        usage: Usage::none(),
        read_upto: 0,
        undelivered: None,
        schedule_off: None,
    }
}

fn claim(process: ProcessEvidence, lease: i64) -> Option<BoardClaim> {
    Some(BoardClaim {
        host: "box".into(),
        pid: 7,
        is_here: true,
        lease: Timestamp(NOW.0 + lease),
        process,
    })
}

fn alive(bodies: Vec<EventBody>) -> BoardFacts {
    let claim = claim(ProcessEvidence::Running, -1);
    BoardFacts {
        claim,
        ..facts(bodies)
    }
}

fn asked(session: u128) -> BoardInquiry {
    BoardInquiry {
        id: PermissionId::from_entropy(1).to_string(),
        session: SessionId::from_entropy(session),
        agent: "tester".into(),
        asked: permission(),
        since: NOW,
        until: Timestamp(NOW.0 + 60_000),
        is_answered: false,
    }
}

fn with_question(change: impl FnOnce(&mut BoardInquiry)) -> BoardFacts {
    let mut inquiry = asked(1);
    change(&mut inquiry);
    let inquiries = vec![inquiry];
    BoardFacts {
        inquiries,
        ..alive(vec![started(), waits(WaitReason::Permission), permission()])
    }
}

fn with_child(
    bodies: Vec<EventBody>,
    child: Vec<EventBody>,
    claim: Option<BoardClaim>,
) -> BoardFacts {
    let child = ChildFacts {
        session: SessionId::from_entropy(2),
        activity: activity(child),
        claim,
    };
    BoardFacts {
        open_children: vec![child],
        ..alive(bodies)
    }
}

fn seen(facts: BoardFacts) -> BoardFacts {
    BoardFacts {
        read_upto: 9,
        ..facts
    }
}

fn row(facts: &BoardFacts) -> BoardRow {
    let moment = BoardMoment {
        now: NOW,
        rev: BoardRev::default(),
    };
    board_row(facts, &moment, BoardSurroundings::default())
}

/// The state, the kinds of what a person should do, and what it waits for.
fn short_row(facts: &BoardFacts) -> (BoardState, Vec<BoardReasonKind>, Option<BoardWaitReason>) {
    let row = row(facts);
    let kinds = row.why.iter().map(|why| why.kind).collect();
    (row.state, kinds, row.waiting.map(|wait| wait.reason))
}

/// What happened, and the state, kinds and wait that follow.
type StateCase = (
    &'static str,
    BoardFacts,
    State,
    Vec<Why>,
    Option<BoardWaitReason>,
);

fn failed(code: Option<ErrorCode>) -> BoardFacts {
    facts(vec![started(), ended(RunStatus::Failed, code)])
}

fn done() -> Vec<EventBody> {
    vec![started(), ended(RunStatus::Completed, None)]
}

/// A run, and whether its process lives.
fn cases_at_work() -> Vec<StateCase> {
    vec![
        ("new", facts(Vec::new()), State::Idle, vec![], None),
        (
            "at work",
            alive(vec![started()]),
            State::Working,
            vec![],
            None,
        ),
        (
            "its process was killed",
            BoardFacts {
                claim: claim(ProcessEvidence::Dead, 9_000),
                ..facts(vec![started()])
            },
            State::Idle,
            vec![],
            None,
        ),
        (
            "its lease is over",
            BoardFacts {
                claim: claim(ProcessEvidence::Unknown, -1),
                ..facts(vec![started()])
            },
            State::Idle,
            vec![],
            None,
        ),
        (
            "its lease holds",
            BoardFacts {
                claim: claim(ProcessEvidence::Unknown, 1),
                ..facts(vec![started()])
            },
            State::Working,
            vec![],
            None,
        ),
    ]
}

/// What is asked, and what does not count as asked.
fn cases_asking() -> Vec<StateCase> {
    vec![
        (
            "asks",
            with_question(|_| {}),
            State::NeedsYou,
            vec![Why::Permission],
            None,
        ),
        (
            "asks, its process is dead",
            BoardFacts {
                claim: None,
                ..with_question(|_| {})
            },
            State::NeedsYou,
            vec![Why::Permission],
            None,
        ),
        (
            "was answered",
            with_question(|one| one.is_answered = true),
            State::Working,
            vec![],
            None,
        ),
        (
            "asked too long ago",
            with_question(|one| one.until = NOW),
            State::Working,
            vec![],
            None,
        ),
        (
            "asked in another session",
            with_question(|one| one.session = SessionId::from_entropy(3)),
            State::Working,
            vec![],
            None,
        ),
        (
            "the run that asked has ended",
            BoardFacts {
                inquiries: vec![asked(1)],
                ..facts(vec![
                    started(),
                    permission(),
                    ended(RunStatus::Cancelled, None),
                ])
            },
            State::Stopped,
            vec![],
            None,
        ),
    ]
}

/// What it waits for: a provider, a child.
fn cases_waiting() -> Vec<StateCase> {
    let child_at_work = claim(ProcessEvidence::Running, 1);
    vec![
        (
            "told to wait",
            alive(vec![started(), waits(WaitReason::RateLimit)]),
            State::Waiting,
            vec![],
            Some(BoardWaitReason::RateLimit),
        ),
        (
            "tries again",
            alive(vec![started(), waits(WaitReason::Retry)]),
            State::Waiting,
            vec![],
            Some(BoardWaitReason::Retry),
        ),
        (
            "told to wait, and died",
            facts(vec![started(), waits(WaitReason::Retry)]),
            State::Idle,
            vec![],
            None,
        ),
        (
            "waited",
            alive(vec![
                started(),
                waits(WaitReason::Retry),
                EventBody::RunResumed {
                    reason: WaitReason::Retry,
                },
            ]),
            State::Working,
            vec![],
            None,
        ),
        (
            "delegated",
            alive(vec![started(), call(1, ToolKind::Delegate)]),
            State::Waiting,
            vec![],
            Some(BoardWaitReason::Child),
        ),
        (
            "delegated and works",
            alive(vec![
                started(),
                call(1, ToolKind::Delegate),
                call(2, ToolKind::Execute),
            ]),
            State::Working,
            vec![],
            None,
        ),
        (
            "a child works in background",
            with_child(done(), vec![started()], child_at_work),
            State::Waiting,
            vec![],
            Some(BoardWaitReason::Child),
        ),
        (
            "a child died in background",
            with_child(done(), vec![started()], None),
            State::Done,
            vec![],
            None,
        ),
        (
            "a child asks",
            BoardFacts {
                inquiries: vec![asked(2)],
                ..with_child(vec![started()], vec![started(), permission()], None)
            },
            State::NeedsYou,
            vec![Why::Permission],
            None,
        ),
    ]
}

/// How it ended, and mail after it.
fn cases_ended() -> Vec<StateCase> {
    vec![
        (
            "failed",
            failed(None),
            State::Failed,
            vec![Why::FailedRun],
            None,
        ),
        (
            "failed, was seen",
            seen(failed(None)),
            State::Stopped,
            vec![],
            None,
        ),
        (
            "failed, works again",
            alive(vec![started(), ended(RunStatus::Failed, None), started()]),
            State::Working,
            vec![],
            None,
        ),
        (
            "no key",
            failed(Some(ErrorCode::Unauthorized)),
            State::NeedsYou,
            vec![Why::Credential],
            None,
        ),
        (
            "money is spent",
            facts(vec![
                started(),
                ended(RunStatus::Budget, Some(ErrorCode::LimitReached)),
            ]),
            State::NeedsYou,
            vec![Why::Budget],
            None,
        ),
        (
            "a tool changed",
            facts(vec![
                started(),
                tool_changed(),
                ended(RunStatus::Completed, None),
            ]),
            State::NeedsYou,
            vec![Why::QuarantinedTool],
            None,
        ),
        (
            "refused by a verifier",
            facts(vec![started(), refuted()]),
            State::Failed,
            vec![Why::FailedRun],
            None,
        ),
        ("done", facts(done()), State::Done, vec![], None),
        (
            "cancelled",
            facts(vec![started(), ended(RunStatus::Cancelled, None)]),
            State::Stopped,
            vec![],
            None,
        ),
        (
            "mail waits",
            BoardFacts {
                mail_waits: true,
                ..facts(done())
            },
            State::Idle,
            vec![],
            None,
        ),
        (
            "mail is being taken",
            BoardFacts {
                mail_waits: true,
                ..alive(done())
            },
            State::Working,
            vec![],
            None,
        ),
    ]
}

#[test]
fn every_state_follows_from_what_happened() {
    let groups = [
        cases_at_work(),
        cases_asking(),
        cases_waiting(),
        cases_ended(),
    ];
    for (what, facts, state, why, wait) in groups.into_iter().flatten() {
        assert_eq!(short_row(&facts), (state, why, wait), "{what}");
    }
}

#[test]
fn process_unread_and_children_follow_too() {
    let works = alive(vec![started()]);
    assert_eq!(row(&works).process, BoardProcess::Alive);
    let mut elsewhere = works.clone();
    if let Some(claim) = &mut elsewhere.claim {
        claim.is_here = false;
    }
    let shown = row(&elsewhere);
    assert_eq!(
        (shown.process, shown.place.host),
        (BoardProcess::Elsewhere, "box".into())
    );
    let dead = BoardFacts {
        claim: claim(ProcessEvidence::Dead, 1),
        ..works
    };
    let shown = row(&dead);
    assert_eq!((shown.process, shown.owner), (BoardProcess::Asleep, None));
    let done = facts(vec![started(), ended(RunStatus::Completed, None)]);
    assert!(row(&done).unread && !row(&seen(done)).unread);
    let asks = BoardFacts {
        inquiries: vec![asked(2)],
        ended_children: EndedChildren { done: 3, failed: 1 },
        ..with_child(vec![started()], vec![started(), permission()], None)
    };
    let counted = ChildCounts {
        working: 0,
        needs_you: 1,
        done: 3,
        failed: 1,
    };
    let shown = row(&asks);
    assert_eq!(
        (shown.children, shown.headline.as_str()),
        (counted, "Bash cargo test")
    );
}

#[test]
fn a_row_is_the_same_after_json() {
    let row = row(&alive(vec![started(), waits(WaitReason::RateLimit)]));
    let text = serde_json::to_string(&row).unwrap();
    assert_eq!(serde_json::from_str::<BoardRow>(&text).unwrap(), row);
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        (&value["state"], &value["process"], &value["waiting"]["for"]),
        (&"waiting".into(), &"alive".into(), &"rate_limit".into())
    );
}

#[test]
fn a_message_that_could_not_be_delivered_needs_a_person() {
    let facts = BoardFacts {
        undelivered: Some(BoardDelivery {
            id: "out_1".into(),
            target: "telegram:1".into(),
            error: "the bot was blocked".into(),
            count: 3,
            since: NOW,
        }),
        ..facts(Vec::new())
    };
    let row = row(&facts);
    assert_eq!(row.state, BoardState::NeedsYou);
    let [why] = row.why.as_slice() else {
        panic!("{:?}", row.why)
    };
    assert_eq!(why.kind, BoardReasonKind::FailedDelivery);
    assert_eq!(why.title, "telegram:1: the bot was blocked (and 2 more)");
}

#[test]
fn a_schedule_that_its_failures_switched_off_needs_a_person() {
    let facts = BoardFacts {
        schedule_off: Some(BoardScheduleOff {
            id: "sch_1".into(),
            name: "morning".into(),
            reason: "10 failures in a row".into(),
            count: 1,
            since: NOW,
            is_on: false,
        }),
        ..facts(Vec::new())
    };
    let row = row(&facts);
    assert_eq!(row.state, BoardState::NeedsYou);
    let [why] = row.why.as_slice() else {
        panic!("{:?}", row.why)
    };
    assert_eq!(
        (why.kind, why.id.as_str()),
        (BoardReasonKind::ScheduleOff, "sch_1")
    );
    assert_eq!(why.title, "morning: 10 failures in a row");
}

#[test]
fn a_session_that_only_shows_failures_of_a_schedule_has_its_name() {
    let off = BoardScheduleOff {
        id: "sch_1".into(),
        name: "morning".into(),
        reason: "gate_error: exit code 2".into(),
        count: 1,
        since: NOW,
        is_on: true,
    };
    let mut facts = BoardFacts {
        schedule_off: Some(off),
        ..facts(Vec::new())
    };
    facts.activity.title.clear();
    facts.session.name = None;
    let row = row(&facts);
    assert_eq!(row.title, "morning");
    assert_eq!(row.why[0].kind, BoardReasonKind::ScheduleFailed);
    assert_eq!(row.headline, "morning: gate_error: exit code 2");
}

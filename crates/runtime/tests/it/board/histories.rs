//! Five hundred random histories: sessions that answer, fail, ask, wait, delegate, are answered, stopped, read and
//! pinned, in runtimes that are stopped and started again.

use std::time::Duration;

use futures::StreamExt;
use rooftree_protocol::{
    AgentDefinition, Answer, Command, Effect, EventBody, PermissionId, PermissionMode,
    PermissionScope, SessionId,
};
use rooftree_providers::scripted::{ScriptEntry, ScriptedFailureKind, call, fail, say};
use rooftree_testkit::{ProbeTool, TestRuntime, TestRuntimeBuilder, owner};
use rooftree_tools::Toolset;
use rooftree_view::board::{
    BoardProcess, BoardReasonKind, BoardRow, BoardState, BoardWaitReason, ChildCounts,
};
use serde_json::json;

use super::row;

/// Runtimes, and sessions in each.
const RUNTIMES: u64 = 25;
const SESSIONS: usize = 20;
/// What happens to a session at most.
const STEPS: usize = 4;

/// Pseudo-random numbers, the same from the same seed.
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 11).unwrap() % end
    }
}

/// What a message has an agent do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wish {
    Say,
    Fail,
    NoKey,
    Hold,
    Retry,
    Ask,
    ChildSays,
    ChildFails,
    ChildHolds,
    ChildAsks,
}

const WISHES: [Wish; 10] = [
    Wish::Say,
    Wish::Fail,
    Wish::NoKey,
    Wish::Hold,
    Wish::Retry,
    Wish::Ask,
    Wish::ChildSays,
    Wish::ChildFails,
    Wish::ChildHolds,
    Wish::ChildAsks,
];

impl Wish {
    /// The message that has an agent do it; none is part of another.
    fn word(self) -> &'static str {
        match self {
            Self::Say => "alder",
            Self::Fail => "beech",
            Self::NoKey => "cedar",
            Self::Hold => "elder",
            Self::Retry => "hazel",
            Self::Ask => "maple",
            Self::ChildSays => "poplar",
            Self::ChildFails => "rowan",
            Self::ChildHolds => "spruce",
            Self::ChildAsks => "willow",
        }
    }
}

/// How the last run ended, and whether that was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ended {
    Never,
    Done,
    Failed(BoardReasonKind),
    Stopped,
}

/// What was done to a session: the oracle.
#[derive(Clone, Debug)]
struct Truth {
    session: SessionId,
    open: Option<Wish>,
    asked: Option<PermissionId>,
    ended: Ended,
    is_seen: bool,
    is_pinned: bool,
    done_below: u64,
    failed_below: u64,
    /// How many runs have ended.
    runs: usize,
    /// Whether the runtime that worked on it is gone.
    is_left: bool,
}

fn script() -> Vec<ScriptEntry> {
    let change = || call("Change", json!({"say": "x"}));
    let task = |prompt: &str| call("Task", json!({"subagent_type": "helper", "prompt": prompt}));
    let hour = Duration::from_secs(3_600);
    let words = |agent: &str| {
        let on = |entry: ScriptEntry, wish: Wish| entry.agent(agent).on(wish.word());
        vec![
            on(say("It is done."), Wish::Say),
            on(fail(ScriptedFailureKind::Refused), Wish::Fail).times(1000),
            on(fail(ScriptedFailureKind::Unauthorized), Wish::NoKey).times(1000),
            on(say("At last.").delay(hour), Wish::Hold),
            on(fail(ScriptedFailureKind::Broken), Wish::Retry).times(1000),
            on(say("").calls([change()]), Wish::Ask),
            on(say("It is changed."), Wish::Ask),
        ]
    };
    let mut entries = words("lead");
    entries.extend(words("helper"));
    for (wish, below) in [
        (Wish::ChildSays, Wish::Say),
        (Wish::ChildFails, Wish::Fail),
        (Wish::ChildHolds, Wish::Hold),
        (Wish::ChildAsks, Wish::Ask),
    ] {
        let on = |entry: ScriptEntry| entry.agent("lead").on(wish.word());
        entries.push(on(say("I ask.").calls([task(below.word())])));
        entries.push(on(say("It was asked.")));
    }
    entries
}

fn plan() -> TestRuntimeBuilder {
    let tools = Toolset::new([ProbeTool::open("Change", Effect::LocalMutation)]);
    let helper = AgentDefinition {
        description: "The helper.".into(),
        ..AgentDefinition::new("helper")
    };
    TestRuntimeBuilder::new(script())
        .with_delegation(tools)
        .agent(helper)
        .asking(PermissionMode::Ask)
}

impl Truth {
    /// The state, whether a process works on it, what it asks, and the sessions below it.
    fn expected(&self) -> (BoardState, BoardProcess, Vec<BoardReasonKind>, ChildCounts) {
        let is_at_work = self.open.is_some() && !self.is_left;
        let mut below = ChildCounts {
            done: self.done_below,
            failed: self.failed_below,
            ..ChildCounts::default()
        };
        below.working = u64::from(is_at_work && self.open == Some(Wish::ChildHolds));
        below.needs_you = u64::from(self.open == Some(Wish::ChildAsks));
        let failure = match self.ended {
            Ended::Failed(kind) if self.open.is_none() && !self.is_seen => Some(kind),
            _ => None,
        };
        let state = match (self.open, failure) {
            (Some(Wish::Ask | Wish::ChildAsks), _) => BoardState::NeedsYou,
            (Some(_), _) if self.is_left => BoardState::Idle,
            (Some(Wish::Retry | Wish::ChildHolds), _) => BoardState::Waiting,
            (Some(_), _) => BoardState::Working,
            (None, Some(BoardReasonKind::FailedRun)) => BoardState::Failed,
            (None, Some(_)) => BoardState::NeedsYou,
            (None, None) => match self.ended {
                Ended::Never => BoardState::Idle,
                Ended::Done => BoardState::Done,
                Ended::Failed(_) | Ended::Stopped => BoardState::Stopped,
            },
        };
        let why = match self.open {
            Some(Wish::Ask | Wish::ChildAsks) => vec![BoardReasonKind::Permission],
            _ => Vec::from_iter(failure),
        };
        let process = if is_at_work {
            BoardProcess::Alive
        } else {
            BoardProcess::Asleep
        };
        (state, process, why, below)
    }

    fn fits(&self, row: &BoardRow) -> bool {
        let why: Vec<BoardReasonKind> = row.why.iter().map(|why| why.kind).collect();
        let shown = (row.state, row.process, why, row.children);
        let waits = row.waiting.as_ref().map(|wait| wait.reason);
        let expected_wait = match (row.state, self.open) {
            (BoardState::Waiting, Some(Wish::Retry)) => Some(BoardWaitReason::Retry),
            (BoardState::Waiting, _) => Some(BoardWaitReason::Child),
            _ => None,
        };
        let by = row.why.first().map(|why| why.by.as_str());
        let is_by_child = self.open == Some(Wish::ChildAsks);
        shown == self.expected()
            && waits == expected_wait
            && row.pinned == self.is_pinned
            && row.ended.is_some() == (self.open.is_none() && self.ended != Ended::Never)
            && (!is_by_child || by == Some("helper"))
            && (self.open.is_some() || row.unread == (self.runs > 0 && !self.is_seen))
    }
}

/// Waits until what the wish leads to has happened.
async fn begin(runtime: &TestRuntime, truth: &mut Truth, wish: Wish) {
    runtime.post_to(&truth.session, wish.word()).await;
    truth.is_seen = false;
    match wish {
        Wish::Say | Wish::Fail | Wish::NoKey | Wish::ChildSays | Wish::ChildFails => {
            finish(runtime, truth).await;
            truth.ended = match wish {
                Wish::Fail => Ended::Failed(BoardReasonKind::FailedRun),
                Wish::NoKey => Ended::Failed(BoardReasonKind::Credential),
                _ => Ended::Done,
            };
            truth.done_below += u64::from(wish == Wish::ChildSays);
            truth.failed_below += u64::from(wish == Wish::ChildFails);
        }
        Wish::Hold | Wish::Retry | Wish::ChildHolds => truth.open = Some(wish),
        Wish::Ask | Wish::ChildAsks => {
            truth.open = Some(wish);
            let asked = row(runtime, &truth.session, |row| {
                row.why
                    .first()
                    .is_some_and(|why| why.kind == BoardReasonKind::Permission)
            });
            let asked = asked.await.unwrap();
            truth.asked = Some(PermissionId::parse(&asked.why[0].id).unwrap());
        }
    }
}

async fn finish(runtime: &TestRuntime, truth: &mut Truth) {
    truth.runs += 1;
    runtime.wait_for_nth_run(&truth.session, truth.runs).await;
    truth.open = None;
}

/// Does something to a session; says what.
async fn step(runtime: &TestRuntime, truth: &mut Truth, chance: &mut Chance) -> String {
    let session = truth.session.clone();
    match (truth.open, chance.below(6)) {
        (_, 0) => {
            truth.is_pinned = !truth.is_pinned;
            let pinned = truth.is_pinned;
            runtime.command(Command::Pin { session, pinned }).await;
            "pin".into()
        }
        (None, 1 | 2) => {
            truth.is_seen = true;
            let upto = None;
            runtime.command(Command::MarkRead { session, upto }).await;
            "read".into()
        }
        (None, _) => {
            let wish = WISHES[chance.below(WISHES.len())];
            begin(runtime, truth, wish).await;
            format!("{wish:?}")
        }
        (Some(wish @ (Wish::Ask | Wish::ChildAsks)), 1..=3) => {
            let permission = truth.asked.take().unwrap();
            let answer = Answer::allow(PermissionScope::Once);
            let permit = Command::Permit {
                session,
                permission,
                answer,
            };
            runtime.command(permit).await;
            finish(runtime, truth).await;
            truth.ended = Ended::Done;
            truth.done_below += u64::from(wish == Wish::ChildAsks);
            "answer".into()
        }
        (Some(_), _) => {
            let run = None;
            runtime.command(Command::Cancel { session, run }).await;
            finish(runtime, truth).await;
            truth.ended = Ended::Stopped;
            "cancel".into()
        }
    }
}

async fn check(runtime: &TestRuntime, truth: &Truth, history: &[String]) {
    if let Err(found) = row(runtime, &truth.session, |row| truth.fits(row)).await {
        panic!(
            "{history:?}\nexpected {:?} of {truth:#?}\nfound {found:#?}",
            truth.expected()
        );
    }
}

async fn history(runtime: &TestRuntime, chance: &mut Chance) -> (Truth, Vec<String>) {
    let new = rooftree_protocol::command::NewSession {
        agent: "lead".into(),
        cwd: runtime.path().into(),
        name: None,
        model: None,
    };
    let opened = runtime.command(Command::Open(new)).await;
    let rooftree_protocol::command::CommandReply::Session(opened) = opened else {
        panic!("{opened:?}")
    };
    let mut truth = Truth {
        session: opened.id,
        open: None,
        asked: None,
        ended: Ended::Never,
        is_seen: false,
        is_pinned: false,
        done_below: 0,
        failed_below: 0,
        runs: 0,
        is_left: false,
    };
    let mut history = vec!["open".to_owned()];
    check(runtime, &truth, &history).await;
    for _ in 0..=chance.below(STEPS) {
        history.push(step(runtime, &mut truth, chance).await);
        check(runtime, &truth, &history).await;
    }
    (truth, history)
}

async fn one_runtime(seed: u64) {
    let mut chance = Chance(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    let runtime = plan().build();
    let mut truths = Vec::new();
    for _ in 0..SESSIONS {
        truths.push(history(&runtime, &mut chance).await);
    }
    runtime.verify().await;
    // What was at work is left behind by a runtime that stops, and is at work again after the next one has begun.
    let runtime = runtime.reopen(plan()).await;
    for (truth, history) in &mut truths {
        truth.is_left = true;
        history.push("stop".into());
        check(&runtime, truth, history).await;
    }
    runtime.recover().await;
    for (truth, history) in &mut truths {
        truth.is_left = false;
        history.push("start".into());
        check(&runtime, truth, history).await;
    }
    runtime.verify().await;
    let journals = runtime.handle.queries(&owner());
    for (truth, _) in &truths {
        let events = journals.all_events(&truth.session, 0).await.unwrap();
        let ends = events
            .iter()
            .filter(|event| matches!(event.body, EventBody::RunCompleted(_)));
        assert_eq!(ends.count(), truth.runs);
    }
    runtime.close().await;
}

#[tokio::test]
async fn five_hundred_random_histories_are_on_the_board_as_they_happened() {
    let runtimes = futures::stream::iter(1..=RUNTIMES).map(one_runtime);
    let done: Vec<()> = runtimes.buffer_unordered(4).collect().await;
    assert_eq!(done.len() * SESSIONS, 500);
}

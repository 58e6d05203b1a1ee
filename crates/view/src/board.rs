//! Board rows: one row per root session with its state, what it needs from a person, and a headline.
//!
//! The same JSON shape is used by `GET /board`, the stream and `rooftree board`. A state is never stored:
//! [`board_row`] derives it from what the store keeps ([`SessionActivity`]), the claim, the clock and a read mark.

mod activity;
mod activity_step;
mod derive;
mod headline;
mod session_outcome;

use std::fmt;

use rooftree_protocol::{SessionId, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use activity::{
    ActivityRun, ActivityWait, EndedRun, OpenCall, SessionActivity, SessionOutcome,
};
pub use activity_step::ActivityStep;
pub use derive::{
    BoardClaim, BoardDelivery, BoardFacts, BoardInquiry, BoardMoment, BoardScheduleOff,
    BoardSurroundings, ChildFacts, EndedChildren, ProcessEvidence, board_row,
};
pub use headline::{HEADLINE_BYTES, HEADLINE_INTERVAL_MS, Headline, plain_line};

/// One root session on the board.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BoardRow {
    /// Which one.
    pub session: SessionId,
    /// The root session; the same one.
    pub root: SessionId,
    /// The revision of the board that this row is part of.
    pub rev: BoardRev,
    /// The number of the last event in its journal.
    pub head: u64,
    /// Its definition, and what that is drawn with.
    pub agent: BoardAgent,
    /// Its name, or what it was first asked.
    pub title: String,
    /// How it is.
    pub state: BoardState,
    /// What it needs from a person, the oldest first; of a failed one, what failed.
    pub why: Vec<BoardReason>,
    /// What it waits for, if its state is `waiting`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting: Option<BoardWait>,
    /// Whether a process works on it.
    pub process: BoardProcess,
    /// The process that owns it, if it lives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<BoardOwner>,
    /// What it does or said last; what it asks, if it needs a person.
    pub headline: String,
    /// When its run began: the open one, else the last one.
    pub started: Option<Timestamp>,
    /// When its last run ended; none while one is open.
    pub ended: Option<Timestamp>,
    /// The sessions below it, by state.
    pub children: ChildCounts,
    /// Items of its todo list that are done, and all of them.
    pub todo: Option<[u32; 2]>,
    /// What it and the sessions below it used.
    pub usage: BoardUsage,
    /// `user`, `schedule:ID`, `connector:NAME`, `agent:NAME` or `system`.
    pub origin: String,
    /// Where it works.
    pub place: BoardPlace,
    /// Whether something was said that the person has not seen.
    pub unread: bool,
    /// Whether it is pinned.
    pub pinned: bool,
}

/// How a session is; what asks most for attention comes first.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum BoardState {
    /// A person has to do something.
    NeedsYou,
    /// Its last run failed, and the person has not seen it.
    Failed,
    /// A process works on it.
    Working,
    /// A process works on it, and waits for something other than a person.
    Waiting,
    /// Nothing was asked of it yet, or it is unfinished and no process works on it.
    Idle,
    /// Its last run completed.
    Done,
    /// Its last run was stopped, or failed and was seen.
    Stopped,
}

impl BoardState {
    /// The name as it is serialized.
    pub fn name(self) -> &'static str {
        match self {
            Self::NeedsYou => "needs_you",
            Self::Failed => "failed",
            Self::Working => "working",
            Self::Waiting => "waiting",
            Self::Idle => "idle",
            Self::Done => "done",
            Self::Stopped => "stopped",
        }
    }
}

/// Something that a person should do or see.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BoardReason {
    /// Of which kind.
    pub kind: BoardReasonKind,
    /// What it is called: the permission, the question, the run, the tool's session.
    pub id: String,
    /// In words.
    pub title: String,
    /// The agent it is about.
    pub by: String,
    /// Since when.
    pub since: Timestamp,
}

/// The kinds of what a person should do or see.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BoardReasonKind {
    /// A call must be allowed or denied.
    Permission,
    /// An agent asks something.
    Question,
    /// A key or login is missing or was refused.
    Credential,
    /// The money set aside is spent.
    Budget,
    /// A run failed.
    FailedRun,
    /// A reply could not be delivered.
    FailedDelivery,
    /// A schedule switched itself off.
    ScheduleOff,
    /// A schedule failed before it had a run, and there was no chat to tell it.
    ScheduleFailed,
    /// A tool is not what it was, and is not used until it is accepted.
    QuarantinedTool,
}

/// What a session waits for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BoardWait {
    /// For what.
    #[serde(rename = "for")]
    pub reason: BoardWaitReason,
    /// Until when at most, if that is known.
    pub until: Option<Timestamp>,
}

/// What a session can wait for besides a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BoardWaitReason {
    /// The provider said "later".
    RateLimit,
    /// A session below it.
    Child,
    /// The provider failed and will be asked again.
    Retry,
}

/// Whether a process works on a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BoardProcess {
    /// One of this machine owns it.
    Alive,
    /// None owns it.
    Asleep,
    /// One of another machine owns it.
    Elsewhere,
}

/// The process that owns a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BoardOwner {
    /// Its machine.
    pub host: String,
    /// Its process id there.
    pub pid: u32,
}

/// A definition, and what it is drawn with.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BoardAgent {
    /// Its name.
    pub name: String,
    /// Its icon, if it has one.
    pub icon: Option<String>,
    /// Its colour, if it has one.
    pub color: Option<String>,
}

/// Sessions below a root session, by state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChildCounts {
    /// A process works on them.
    pub working: u64,
    /// They ask a person.
    pub needs_you: u64,
    /// Their last run completed.
    pub done: u64,
    /// Their last run failed.
    pub failed: u64,
}

/// What was used.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BoardUsage {
    /// Tokens read and written.
    pub tokens: u64,
    /// US dollars, as far as prices are known.
    pub cost_usd: f64,
    /// Whether every price was known.
    pub complete: bool,
}

/// Where a session works.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BoardPlace {
    /// The machine.
    pub host: String,
    /// The directory.
    pub cwd: String,
    /// The git branch of the directory, if there is one.
    pub branch: Option<String>,
}

/// A revision of a board: which process counted, and how far. Those of another process cannot be compared.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, JsonSchema)]
#[schemars(with = "String")]
pub struct BoardRev {
    /// The process that counted.
    pub boot: String,
    /// How far it had counted.
    pub number: u64,
}

impl BoardRev {
    /// Reads `BOOT:N`.
    pub fn parse(text: &str) -> Option<Self> {
        let (boot, number) = text.rsplit_once(':')?;
        let number = number.parse().ok()?;
        let boot = boot.to_owned();
        Some(Self { boot, number })
    }
}

impl fmt::Display for BoardRev {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.boot, self.number)
    }
}

impl Serialize for BoardRev {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for BoardRev {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let error = || serde::de::Error::custom("a revision looks like BOOT:N");
        Self::parse(&text).ok_or_else(error)
    }
}

/// What a watcher of the board is told.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "event", content = "data")]
pub enum BoardChange {
    /// The whole board; what was known before does not count any more.
    #[serde(rename = "board.snapshot")]
    Snapshot(BoardSnapshot),
    /// A row is new or has changed.
    #[serde(rename = "board.row")]
    Row(Box<BoardRow>),
    /// A row is not on the board any more.
    #[serde(rename = "board.gone")]
    Gone(BoardGone),
}

/// The whole board.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BoardSnapshot {
    /// Its revision.
    pub rev: BoardRev,
    /// Its rows; what asks most for attention comes first.
    pub rows: Vec<BoardRow>,
}

/// A row that is not on the board any more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BoardGone {
    /// The revision without it.
    pub rev: BoardRev,
    /// Which one.
    pub session: SessionId,
}

impl BoardChange {
    /// The dotted name, as it is serialized.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Snapshot(_) => "board.snapshot",
            Self::Row(_) => "board.row",
            Self::Gone(_) => "board.gone",
        }
    }

    /// The revision of the board with this change.
    pub fn rev(&self) -> &BoardRev {
        match self {
            Self::Snapshot(snapshot) => &snapshot.rev,
            Self::Row(row) => &row.rev,
            Self::Gone(gone) => &gone.rev,
        }
    }
}

/// Sorts rows: by state; those that need a person by how long they have, others the latest first.
pub fn sort_board(rows: &mut [BoardRow]) {
    rows.sort_by(|one, other| {
        let since = |row: &BoardRow| row.why.first().map(|why| why.since);
        let latest = |row: &BoardRow| row.ended.max(row.started);
        let by_time = match one.state {
            BoardState::NeedsYou => since(one).cmp(&since(other)),
            _ => latest(other).cmp(&latest(one)),
        };
        let by_pin = other.pinned.cmp(&one.pinned);
        let by_state = one.state.cmp(&other.state);
        by_state
            .then(by_pin)
            .then(by_time)
            .then_with(|| one.session.cmp(&other.session))
    });
}

//! Occurrences of schedules: one due time each, with its outcome, and the transaction that fires it.

use rooftree_protocol::{IncidentInfo, RunId, SessionId, Timestamp};
use serde::{Deserialize, Serialize};

use crate::{InboxPost, NewSessionRow, OutboxPost, ScheduleRow};

/// A due time and what became of it.
#[derive(Clone, Debug, PartialEq)]
pub struct OccurrenceRow {
    /// Of which schedule.
    pub schedule: String,
    /// The time at which it was due.
    pub due: Timestamp,
    /// How it is.
    pub state: OccurrenceState,
    /// Why it was skipped or failed, in a word.
    pub reason: Option<String>,
    /// The same in a sentence.
    pub detail: Option<String>,
    /// The session in which it runs.
    pub session: Option<SessionId>,
    /// Its run.
    pub run: Option<RunId>,
    /// What the gate command said to keep.
    pub gate_state: Option<String>,
    /// When the run wants to be called again.
    pub next_check: Option<Timestamp>,
    /// Tokens it used, with everything it delegated.
    pub tokens: u64,
    /// US dollars it cost.
    pub cost_usd: f64,
    /// Replies of models.
    pub calls: u32,
    /// The beginning of the answer.
    pub answer: Option<String>,
    /// When it was fired or skipped.
    pub started_at: Timestamp,
    /// When it was over.
    pub ended_at: Option<Timestamp>,
    /// Whether the scheduler has drawn its conclusions.
    pub reviewed: bool,
}

/// How an occurrence is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OccurrenceState {
    /// Its message is in an inbox, or its command begins.
    Claimed,
    /// Its run has begun.
    Running,
    /// Its run ended well.
    Completed,
    /// Its run ended badly.
    Failed,
    /// Nothing was done.
    Skipped,
    /// Its process died, and no process can tell what was done.
    Unknown,
}

impl OccurrenceState {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Claimed,
        Self::Running,
        Self::Completed,
        Self::Failed,
        Self::Skipped,
        Self::Unknown,
    ];

    /// Its word in the table.
    pub fn word(self) -> &'static str {
        match self {
            Self::Claimed => "claimed",
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
            Self::Unknown => "unknown",
        }
    }

    /// Whether it is not over.
    pub fn is_open(self) -> bool {
        matches!(self, Self::Claimed | Self::Running)
    }
}

/// A schedule that fires or is skipped, if it is still as it was read.
#[derive(Clone, Debug)]
pub struct FiredSchedule {
    /// Which one.
    pub id: String,
    /// The revision it must have.
    pub revision: u64,
    /// The due time it must have; none if it is fired at any time, as by hand.
    pub at_due: Option<Timestamp>,
    /// The due time that this is an occurrence of.
    pub due: Timestamp,
    /// Its next due time; none leaves it as it is if `at_due` is none too.
    pub next_due: Option<Timestamp>,
    /// Earlier due times that no scheduler saw.
    pub missed: Vec<SkippedOccurrence>,
    /// What its gate command said to keep if the run completes.
    pub gate_state: Option<String>,
}

/// A due time for which nothing was done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkippedOccurrence {
    /// The due time.
    pub due: Timestamp,
    /// Why, in a word.
    pub reason: String,
    /// Why, in a sentence.
    pub detail: Option<String>,
}

/// What is done at a due time, in one transaction: occurrence, session, message, next due time.
#[derive(Clone, Debug)]
pub struct ScheduleFiring {
    /// The schedules; several only if their tasks are one message.
    pub schedules: Vec<FiredSchedule>,
    /// What is done.
    pub work: FiringWork,
    /// Now.
    pub at: Timestamp,
}

/// What is done at a due time.
#[derive(Clone, Debug)]
pub enum FiringWork {
    /// A message is put into an inbox.
    Post {
        /// The session, if it is to be opened. Of one that is there with its connector key the inbox is used.
        open: Option<Box<NewSessionRow>>,
        /// The message.
        post: Box<InboxPost>,
        /// The run that the message starts.
        run: RunId,
    },
    /// A command is started by the sender of this. It settles the occurrence.
    Command,
    /// Nothing.
    Skip {
        /// Why, in a word.
        reason: String,
        /// Why, in a sentence.
        detail: Option<String>,
        /// How the occurrence is: skipped or failed.
        state: OccurrenceState,
        /// Whether the scheduler draws conclusions from it, as from a failure.
        needs_review: bool,
    },
}

/// What came of it.
#[derive(Clone, Debug, PartialEq)]
pub enum FiringOutcome {
    /// It is done; the session whose inbox has the message.
    Fired(Option<SessionId>),
    /// The due time is another process's, or the schedule was changed.
    Lost,
}

/// How an occurrence without a run ended.
#[derive(Clone, Debug)]
pub struct OccurrenceUpdate {
    /// Of which schedule.
    pub schedule: String,
    /// Its due time.
    pub due: Timestamp,
    /// How it is.
    pub state: OccurrenceState,
    /// Why, in a word.
    pub reason: Option<String>,
    /// Why, in a sentence.
    pub detail: Option<String>,
    /// The beginning of the result.
    pub answer: Option<String>,
    /// Now.
    pub at: Timestamp,
}

/// What follows from an occurrence that is over.
#[derive(Clone, Debug)]
pub struct OccurrenceReview {
    /// The occurrence.
    pub schedule: String,
    /// Its due time.
    pub due: Timestamp,
    /// Failures in a row from now on.
    pub streak: u32,
    /// Attempts in a row that reached no model.
    pub attempts: u32,
    /// What the gate command keeps; none: what it kept before.
    pub gate_state: Option<String>,
    /// A due time before the next one, if there is to be one.
    pub next_due: Option<Timestamp>,
    /// Why it is switched off.
    pub disable: Option<String>,
    /// The failure; none if there was none, which resolves its incidents.
    pub incident: Option<IncidentReport>,
    /// Messages to chats about it.
    pub outbox: Vec<OutboxPost>,
    /// Shows it on the board: in the session that the schedule had last, else in this one, which is opened then.
    pub shown: Option<Box<NewSessionRow>>,
    /// Now.
    pub at: Timestamp,
}

/// A failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IncidentReport {
    /// What failures with the same cause have in common.
    pub signature: String,
    /// The failure in words.
    pub words: String,
    /// Whether its owner is told.
    pub alerted: bool,
}

/// Failures of a schedule with the same cause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IncidentRow {
    /// Of which schedule.
    pub schedule: String,
    /// What they have in common.
    pub signature: String,
    /// How it is.
    pub state: IncidentState,
    /// The last failure in words.
    pub words: String,
    /// How many there were since it was last resolved.
    pub count: u64,
    /// The first.
    pub first_at: Timestamp,
    /// The last.
    pub last_at: Timestamp,
}

impl IncidentRow {
    /// The same as clients read it.
    pub fn info(self) -> IncidentInfo {
        IncidentInfo {
            signature: self.signature,
            state: self.state.word().to_owned(),
            words: self.words,
            count: self.count,
            first: self.first_at,
            last: self.last_at,
        }
    }
}

/// How an incident is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IncidentState {
    /// It happened, and its owner was not told.
    Detected,
    /// Its owner was told.
    Alerted,
    /// A run has completed since.
    Resolved,
    /// A person wants to hear no more of it.
    Acknowledged,
}

impl IncidentState {
    /// Its word in the table.
    pub fn word(self) -> &'static str {
        match self {
            Self::Detected => "detected",
            Self::Alerted => "alerted",
            Self::Resolved => "resolved",
            Self::Acknowledged => "acknowledged",
        }
    }
}

/// Which occurrences to list, the latest due time first.
#[derive(Clone, Debug, Default)]
pub struct OccurrenceFilter {
    /// Of which schedule.
    pub schedule: String,
    /// Only those due before this.
    pub before: Option<Timestamp>,
    /// At most this many; zero for all.
    pub limit: usize,
}

impl ScheduleRow {
    /// The same, to be fired at a due time.
    pub fn fired_at(&self, due: Timestamp, next_due: Option<Timestamp>) -> FiredSchedule {
        FiredSchedule {
            id: self.id.clone(),
            revision: self.revision,
            at_due: self.next_due,
            due,
            next_due,
            missed: Vec::new(),
            gate_state: None,
        }
    }
}

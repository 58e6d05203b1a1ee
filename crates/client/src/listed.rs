//! Rows of lists of a runtime, and queries for them: sessions, requests to people, runs, tasks.

use std::path::PathBuf;

use rooftree_protocol::{EventBody, Lane, MessageId, Part, RunId, Session, SessionId, Timestamp};
use rooftree_store::TaskRow;
use serde::{Deserialize, Serialize};

/// How the work of a session stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionWork {
    /// Whether a run is open or mail waits.
    pub is_unfinished: bool,
    /// Whether a living process works on it.
    pub is_worked_on: bool,
    /// The living process that works on it, if that is neither this one nor the server.
    pub elsewhere: Option<String>,
}

/// Which sessions to list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionQuery {
    /// Only of this agent.
    pub agent: Option<String>,
    /// Only those with this id, this end of an id or this name; also delegated ones.
    pub called: Option<String>,
    /// Only those in this directory.
    pub cwd: Option<PathBuf>,
    /// Also those that agents opened for others.
    pub delegated: bool,
    /// Deleted ones instead of live ones.
    pub deleted: bool,
    /// At most this many; 50 if absent.
    pub limit: Option<usize>,
}

impl SessionQuery {
    /// How many are listed if the query does not say.
    pub(crate) const LIMIT: usize = 50;
}

/// Whether something is left to do in a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionStanding {
    /// A process works on it.
    Working,
    /// Something is left to do, and no process works on it.
    Unfinished,
    /// Nothing is left to do.
    Resting,
}

/// A session in a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ListedSession {
    /// The session.
    #[serde(flatten)]
    pub session: Session,
    /// Whether something is left to do.
    pub state: SessionStanding,
}

/// Which permission requests and questions to list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InquirySelection {
    /// Those that wait for an answer, the oldest first.
    Pending,
    /// Those of the last 30 days that were answered, expired or were withdrawn, the latest first.
    Answered,
}

/// In which state a request to people is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnswerState {
    /// It waits for an answer.
    Pending,
    /// It was answered.
    Answered,
    /// Its time was over before a person answered.
    Expired,
    /// Its agent does not need an answer any more.
    Withdrawn,
}

/// A permission request or question.
#[derive(Clone, Debug, PartialEq)]
pub struct ListedInquiry {
    /// `per_…` or `que_…`.
    pub id: String,
    /// The session that asks.
    pub session: SessionId,
    /// The first session above it.
    pub root: SessionId,
    /// The run that asks.
    pub run: Option<RunId>,
    /// The agent that asks.
    pub agent: String,
    /// Names exactly what is asked.
    pub digest: String,
    /// What is asked, as the journal has it.
    pub asked: EventBody,
    /// Since when.
    pub asked_at: Timestamp,
    /// When it is answered by itself.
    pub until: Timestamp,
    /// In which state it is.
    pub state: AnswerState,
    /// Who answered.
    pub by: Option<String>,
}

/// Which runs to list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunQuery {
    /// Only of this session.
    pub session: Option<SessionId>,
    /// Only those that this run delegated.
    pub parent: Option<RunId>,
    /// Only those that were not delegated.
    pub roots: bool,
    /// Only those whose id ends so.
    pub ending: Option<String>,
    /// At most this many; all if absent.
    pub limit: Option<usize>,
}

/// Which tasks to list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskQuery {
    /// Only of this session.
    pub session: Option<SessionId>,
    /// Only those whose id ends so.
    pub ending: Option<String>,
}

/// A background agent or program in a list.
#[derive(Clone, Debug, PartialEq)]
pub struct ListedTask {
    /// The task.
    pub task: TaskRow,
    /// Not ended, and no process works on it: it goes on when its session does.
    pub is_left: bool,
}

/// A place where words were found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FoundWords {
    /// In which session.
    pub session: SessionId,
    /// Of which agent.
    pub agent: String,
    /// What the session is called.
    pub name: Option<String>,
    /// At which event.
    pub event: u64,
    /// The words and what is around them, the hit between `[` and `]`.
    pub snippet: String,
}

/// A message that waits for a session's agent.
#[derive(Clone, Debug, PartialEq)]
pub struct WaitingMessage {
    /// Its id.
    pub message: MessageId,
    /// Whether it starts a run or enters the running one.
    pub lane: Lane,
    /// Its place in the lane.
    pub position: u64,
    /// What it says.
    pub parts: Vec<Part>,
    /// Whether it starts no run.
    pub silent: bool,
    /// Whether it was withdrawn: it is not read.
    pub withdrawn: bool,
    /// How often it was replaced.
    pub revision: u32,
    /// When it was sent.
    pub at: Timestamp,
}

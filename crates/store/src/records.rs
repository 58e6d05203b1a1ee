//! Row types that go into a store and come out of it, besides the types of the protocol.

use std::path::PathBuf;

use rooftree_protocol::{
    Account, ChatTarget, Command, Event, Lane, Message, ParentCall, Part, Principal, RunId,
    Session, SessionId, Timestamp, Usage,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{AuditEntry, Inquiry, OutboxPost, RuleRow};

/// A session to be opened.
#[derive(Clone, Debug)]
pub struct NewSessionRow {
    /// Its id, made by the caller.
    pub id: SessionId,
    /// Its definition.
    pub agent: String,
    /// What people call it.
    pub name: Option<String>,
    /// The model it should use.
    pub model: Option<String>,
    /// Where its tools work.
    pub cwd: PathBuf,
    /// Who delegated to it.
    pub parent: Option<ParentCall>,
    /// What outside identity maps to it.
    pub connector_key: Option<String>,
    /// The chat it is a conversation in.
    pub chat: Option<ChatTarget>,
    /// The tenant and person it belongs to.
    pub account: Account,
    /// Who opened it, where no message tells.
    pub audit: Option<Box<AuditEntry>>,
    /// Now.
    pub at: Timestamp,
}

/// Metadata to change; what is absent stays.
#[derive(Clone, Debug, Default)]
pub struct SessionPatch {
    /// The new name; `Some(None)` takes it away.
    pub name: Option<Option<String>>,
    /// Deleted at, or not any more.
    pub deleted_at: Option<Option<Timestamp>>,
    /// Pinned at, or not any more.
    pub pinned_at: Option<Option<Timestamp>>,
    /// The model to use from now on.
    pub model: Option<Option<String>>,
    /// Attributes to set; null removes one.
    pub attributes: Map<String, Value>,
    /// When it changed, if lists should show it as updated then; never moves the time back.
    pub at: Option<Timestamp>,
    /// Who changes it.
    pub audit: Option<Box<AuditEntry>>,
}

/// Which sessions to list.
#[derive(Clone, Debug, Default)]
pub struct SessionFilter {
    /// Only of this agent (without case).
    pub agent: Option<String>,
    /// Only with this name (without case) or this unique end of the id.
    pub called: Option<String>,
    /// Only children of this session.
    pub parent: Option<SessionId>,
    /// Only in this directory.
    pub cwd: Option<PathBuf>,
    /// Only delegated ones, only top-level ones, or both.
    pub top_level: Option<bool>,
    /// Only those a person talks to; the one at work in a process that lives, then the one spoken to last, comes
    /// first.
    pub foreground: bool,
    /// Deleted ones instead of live ones.
    pub deleted: bool,
    /// Only of this tenant.
    pub tenant: Option<String>,
    /// Only these.
    pub visible: VisibleSessions,
    /// Only those listed after this place; not for `foreground`.
    pub after: Option<SessionListCursor>,
    /// At most this many; zero for all.
    pub limit: usize,
}

/// A place in a list of sessions: the last one of a page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionListCursor {
    /// When it was updated, as it was listed.
    pub updated_at: Timestamp,
    /// Which one.
    pub id: SessionId,
}

impl From<&Session> for SessionListCursor {
    fn from(session: &Session) -> Self {
        Self {
            updated_at: session.updated_at,
            id: session.id.clone(),
        }
    }
}

/// A message to be put into an inbox.
#[derive(Clone, Debug)]
pub struct InboxPost {
    /// Whose inbox.
    pub session: SessionId,
    /// Which lane.
    pub lane: Lane,
    /// Idempotency key, unique within the session. The message's own id: it has none.
    pub key: String,
    /// The message.
    pub message: Message,
    /// How many may wait in the lane, this one included; those taken already do not count.
    pub capacity: u64,
}

/// Where a message is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PostReceipt {
    /// Its place in the lane, from 1, without gaps.
    pub position: u64,
    /// The stored message's id: the first one's, if the key was used before.
    pub message: rooftree_protocol::MessageId,
    /// Whether the key was used before, and what for.
    pub repeated: KeyReuse,
}

/// What a key was used for before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyReuse {
    /// Nothing.
    No,
    /// A message that says the same.
    Same,
    /// A message that says something else.
    Other,
}

/// A message waiting in an inbox.
#[derive(Clone, Debug, PartialEq)]
pub struct InboxItem {
    /// Which lane.
    pub lane: Lane,
    /// Its place.
    pub position: u64,
    /// Its idempotency key.
    pub key: String,
    /// The message.
    pub message: Message,
    /// Who withdrew it; none if it counts.
    pub withdrawn: Option<Box<Principal>>,
}

/// What to do with a message that waits.
#[derive(Clone, Debug)]
pub enum InboxChange {
    /// It is not to be read.
    Withdraw {
        /// Who withdraws it.
        who: Box<Principal>,
    },
    /// It says something else.
    Replace {
        /// What it says now.
        parts: Vec<Part>,
        /// Who says it.
        who: Box<Principal>,
        /// The entry of the audit log that is written with it.
        audit: Option<Box<AuditEntry>>,
    },
}

/// What came of changing a message that waits.
#[derive(Clone, Debug, PartialEq)]
pub enum InboxChangeOutcome {
    /// It is changed: as it is now.
    Changed(Box<InboxItem>),
    /// It was withdrawn before; nothing changed.
    Withdrawn,
    /// Its agent has taken it.
    Taken,
    /// The session's inbox has no such message.
    Unknown,
}

/// An agent made over the API.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentRow {
    /// Whose.
    pub tenant: String,
    /// Its name, in lower case.
    pub name: String,
    /// Counts changes, from 1.
    pub revision: u64,
    /// The definition, as a Markdown file has it.
    pub text: String,
    /// Who changed it last.
    pub by: Principal,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was changed last.
    pub updated_at: Timestamp,
}

/// A change of an agent's row.
#[derive(Clone, Debug)]
pub struct AgentWrite {
    /// Whose.
    pub tenant: String,
    /// Its name, in lower case.
    pub name: String,
    /// Its definition from now on; none to remove it.
    pub text: Option<String>,
    /// The revision it must have; none if there must be no such agent.
    pub expected: Option<u64>,
    /// Who changes it.
    pub by: Principal,
    /// Now.
    pub at: Timestamp,
    /// The entry of the audit log that is written with it.
    pub audit: Option<AuditEntry>,
}

/// What came of changing an agent's row.
#[derive(Clone, Debug, PartialEq)]
pub enum AgentWriteOutcome {
    /// As it is now; none if it was removed.
    Written(Option<Box<AgentRow>>),
    /// It has another revision: as it is; none if there is none.
    Differs(Option<Box<AgentRow>>),
}

/// How many messages of a lane are looked at together: mail is taken one by one, what waits at a
/// boundary all at once.
pub fn batch_limit(lane: Lane) -> usize {
    if lane == Lane::Mail { 2 } else { 64 }
}

/// One commit of a session's owner.
#[derive(Clone, Debug, Default)]
pub struct AppendBatch {
    /// Events with their numbers, continuing the journal without a gap. All durable.
    pub events: Vec<Event>,
    /// Inbox items whose message is among `events`, in the same order. Each must be the next of
    /// its lane: anything else is refused, so nothing is skipped and nothing is taken twice.
    pub taken: Vec<(Lane, u64)>,
    /// Items that need no more work: those of `taken` that start no run, or the one a run answered.
    /// Mail is done in order; at a boundary what woke the session may be done after what came later.
    pub done: Vec<(Lane, u64)>,
    /// The run being worked on after this commit: `Some(None)` says it is settled.
    pub run: Option<Option<RunId>>,
    /// Messages to other sessions.
    pub posts: Vec<InboxPost>,
    /// Tasks that begin or end with this commit.
    pub tasks: Vec<TaskRow>,
    /// What is asked of people in `events`. An event that settles one settles its row too.
    pub asks: Vec<Inquiry>,
    /// Rules that an answer made.
    pub rules: Vec<RuleRow>,
    /// Messages to chats that these events cause.
    pub outbox: Vec<OutboxPost>,
    /// Bytes that `events` name, kept as `put_blob` keeps them: an event never names what is not there.
    pub blobs: Vec<Vec<u8>>,
    /// The last thing said, for lists.
    pub snippet: Option<String>,
    /// The claim lives at least until then.
    pub lease: Timestamp,
}

/// A command left by another process.
#[derive(Clone, Debug)]
pub struct CommandRow {
    /// What is wanted.
    pub command: Command,
    /// Who wants it; none if an agent does.
    pub who: Option<Box<Principal>>,
    /// The entry of the audit log that is written with it.
    pub audit: Option<Box<AuditEntry>>,
    /// Since when.
    pub at: Timestamp,
}

impl CommandRow {
    /// A command that no person sent.
    pub fn new(command: Command, at: Timestamp) -> Self {
        let (who, audit) = (None, None);
        Self {
            command,
            who,
            audit,
            at,
        }
    }
}

/// A background process or run, as it is listed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskRow {
    /// `prc_…` or `run_…`.
    pub id: String,
    /// Whose.
    pub session: SessionId,
    /// `process` or `agent`.
    pub kind: String,
    /// In a few words.
    pub title: String,
    /// How it is.
    pub status: TaskStatus,
    /// For a process: its group and when its leader started, to find and end it after a crash.
    pub process_group: Option<(i32, u64)>,
    /// Exit code or signal, in words.
    pub detail: String,
    /// Since when.
    pub started_at: Timestamp,
    /// Until when.
    pub ended_at: Option<Timestamp>,
    /// For a delegated run: the session it works in.
    #[serde(default)]
    pub child: Option<SessionId>,
    /// Whatever else its owner keeps about it.
    #[serde(default)]
    pub data: Map<String, Value>,
}

/// Which tasks to list.
#[derive(Clone, Debug, Default)]
pub struct TaskFilter {
    /// Only of this session.
    pub session: Option<SessionId>,
    /// Only of sessions of this tenant.
    pub tenant: Option<String>,
    /// Only of these sessions.
    pub visible: VisibleSessions,
    /// Only those whose id ends so.
    pub ending: Option<String>,
    /// Only those listed after this one: the last one of a page.
    pub after: Option<String>,
    /// At most this many; zero for all.
    pub limit: usize,
}

impl TaskFilter {
    /// All tasks of a session.
    pub fn of(session: &SessionId) -> Self {
        Self {
            session: Some(session.clone()),
            ..Self::default()
        }
    }
}

/// A piece of what a background process wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputPiece {
    /// How many bytes came before it.
    pub start: u64,
    /// What it says.
    pub text: String,
}

impl OutputPiece {
    /// How many bytes there are with it.
    pub fn end(&self) -> u64 {
        self.start + self.text.len() as u64
    }
}

/// How a task is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskStatus {
    /// At work.
    Running,
    /// Ended well.
    Completed,
    /// Ended badly.
    Failed,
    /// Stopped by a user or an agent.
    Cancelled,
}

/// Which runs to list.
#[derive(Clone, Debug, Default)]
pub struct RunFilter {
    /// Only this one.
    pub run: Option<RunId>,
    /// Only those whose id ends so.
    pub ending: Option<String>,
    /// Only those delegated by this run.
    pub parent: Option<RunId>,
    /// Only of this session.
    pub session: Option<SessionId>,
    /// Only top-level runs: those that were not delegated.
    pub roots: bool,
    /// Only of sessions of this tenant.
    pub tenant: Option<String>,
    /// Only of these sessions.
    pub visible: VisibleSessions,
    /// Only those that began before this one: the last one of a page.
    pub before: Option<RunId>,
    /// At most this many; zero for all.
    pub limit: usize,
}

/// What to sum usage up by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UsageGroup {
    /// The agent.
    Agent,
    /// The model, or the tool that asked one.
    #[default]
    Model,
    /// The day, in UTC.
    Day,
    /// The session.
    Session,
}

/// Which usage to sum up.
#[derive(Clone, Debug, Default)]
pub struct UsageFilter {
    /// By what.
    pub by: UsageGroup,
    /// Each sum is divided further by these.
    pub also: Vec<UsageGroup>,
    /// Only from this day on: days since 1 January 1970, in UTC.
    pub since: Option<i64>,
    /// Only of sessions of this tenant.
    pub tenant: Option<String>,
    /// Only of these sessions.
    pub visible: VisibleSessions,
}

impl UsageFilter {
    /// All there is, by one thing.
    pub fn by(by: UsageGroup) -> Self {
        Self {
            by,
            ..Self::default()
        }
    }
}

/// Which sessions a principal may see, as far as a list can tell: of a person, and below sessions of some agents.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VisibleSessions {
    /// Only of this person; none for all.
    pub person: Option<String>,
    /// Only those of these agents (without case), and those delegated below them; none for all.
    pub agents: Option<Vec<String>>,
}

impl VisibleSessions {
    /// Those that this principal may see.
    pub fn of(who: &Principal) -> Self {
        Self {
            person: (!who.is_owner()).then(|| who.person.clone()),
            agents: who.agents.as_ref().map(|agents| agents.to_vec()),
        }
    }

    /// Those of an account's person, as agents that work for him see them.
    pub fn of_account(account: &Account) -> Self {
        Self {
            person: Some(account.person.clone()),
            agents: None,
        }
    }

    /// Of those, only the ones that a filter wants too.
    #[must_use]
    pub fn narrowed_by(self, other: Self) -> Self {
        Self {
            person: self.person.or(other.person),
            agents: self.agents.or(other.agents),
        }
    }
}

/// What to search journals for.
#[derive(Clone, Debug, Default)]
pub struct JournalSearch {
    /// The words, all of which must be there.
    pub words: String,
    /// Only in sessions of this tenant.
    pub tenant: Option<String>,
    /// Only in these sessions.
    pub visible: VisibleSessions,
    /// At most this many.
    pub limit: usize,
}

impl JournalSearch {
    /// A search in all sessions.
    pub fn new(words: &str, limit: usize) -> Self {
        Self {
            words: words.to_owned(),
            limit,
            ..Self::default()
        }
    }
}

/// What one agent, model, day or session used.
#[derive(Clone, Debug, PartialEq)]
pub struct UsageRow {
    /// Its name; of a session without one, its id.
    pub name: String,
    /// Names of what the sum is divided by further, in the order of the filter.
    pub also: Vec<String>,
    /// Replies of models.
    pub replies: u64,
    /// Tokens and cost.
    pub usage: Usage,
}

/// A run, by the events it begins and ends with.
#[derive(Clone, Debug, PartialEq)]
pub struct RunRow {
    /// `run.started`.
    pub started: Event,
    /// `run.completed`, if it has ended.
    pub ended: Option<Event>,
}

/// A place where searched words were found.
#[derive(Clone, Debug)]
pub struct SearchHit {
    /// In which session.
    pub session: Session,
    /// At which event.
    pub event: u64,
    /// The words and what is around them, the hit between `[` and `]`.
    pub snippet: String,
}

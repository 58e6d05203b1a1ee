//! The trait of a client: what a program can do with a runtime, wherever it is.

use async_trait::async_trait;
use rooftree_protocol::{
    Command, Event, EventBody, Part, Problem, RunId, Session, SessionId, Timestamp,
    command::CommandReply,
};
use rooftree_runtime::AttachedFile;
use rooftree_store::TaskRow;
use rooftree_view::{StreamRequest, board::BoardSnapshot};
use serde::{Deserialize, Serialize};

use crate::{EventFeed, Watch};

/// What a program can do with a runtime. Errors say what failed, why, and what to do.
#[async_trait]
pub trait RuntimeClient: Send + Sync {
    /// Carries out a command. Events tell what comes of it. A post without a key gets one, so that sending it again after
    /// a failure does not store it twice.
    async fn send(&self, command: Command) -> Result<CommandReply, Problem>;

    /// One session by id; none if there is none that the caller may see.
    async fn session(&self, id: &SessionId) -> Result<Option<Session>, Problem>;

    /// Sessions, most recently updated first.
    async fn sessions(&self, query: SessionQuery) -> Result<Vec<Session>, Problem>;

    /// Events of a session with a number above `after`, in order, at most `limit`.
    async fn events(
        &self,
        session: &SessionId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<Event>, Problem>;

    /// Permission requests and questions that wait for an answer, the oldest first.
    async fn open_questions(&self) -> Result<Vec<PendingQuestion>, Problem>;

    /// Whether something is left to do in a session, and who works on it.
    async fn session_work(&self, id: &SessionId) -> Result<SessionWork, Problem>;

    /// Background agents and programs, of one session or of all, the latest first.
    async fn tasks(&self, session: Option<&SessionId>) -> Result<Vec<TaskRow>, Problem>;

    /// The board as it is now, of one agent or of all.
    async fn board(&self, agent: Option<&str>) -> Result<BoardSnapshot, Problem>;

    /// The part of a message for a file. Bytes that do not go into the message are stored.
    async fn attach(&self, file: AttachedFile) -> Result<Part, Problem>;

    /// Follows a session and all below it, from after this event on.
    fn follow(&self, session: &SessionId, after: u64) -> EventFeed;

    /// Watches sessions and topics from their cursors on.
    fn watch(&self, request: StreamRequest) -> Watch;
}

/// How the work of a session stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionWork {
    /// Whether a run is open or mail waits.
    pub is_unfinished: bool,
    /// The living process that works on it, if that is neither this one nor the server.
    pub elsewhere: Option<String>,
}

/// Which sessions to list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionQuery {
    /// Only of this agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// At most this many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
}

/// A permission request or question that waits for an answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PendingQuestion {
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
}

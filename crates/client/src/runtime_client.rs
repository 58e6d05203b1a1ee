//! The trait of a client: what a program can do with a runtime, wherever it is.

use async_trait::async_trait;
use rooftree_protocol::{
    Command, Event, Part, Problem, RunId, Session, SessionId, command::CommandReply,
    file_undo::FileUndo,
};
use rooftree_runtime::AttachedFile;
use rooftree_store::{OutputPiece, RuleRow, TaskRow};
use rooftree_view::{RunDetail, RunItem, RunSpan, StreamRequest, board::BoardSnapshot};

use crate::{
    EventFeed, FoundWords, InquirySelection, ListedInquiry, ListedSession, ListedTask, RunQuery,
    SessionQuery, SessionWork, TaskQuery, WaitingMessage, Watch,
};

/// What a program can do with a runtime. Errors say what failed, why, and what to do.
#[async_trait]
pub trait RuntimeClient: Send + Sync {
    /// Carries out a command. Events tell what comes of it. A post without a key gets one, so that sending it again after
    /// a failure does not store it twice.
    async fn send(&self, command: Command) -> Result<CommandReply, Problem>;

    /// One session by id; none if there is none that the caller may see.
    async fn session(&self, id: &SessionId) -> Result<Option<Session>, Problem>;

    /// Sessions with how their work stands, most recently updated first.
    async fn listed_sessions(&self, query: SessionQuery) -> Result<Vec<ListedSession>, Problem>;

    /// Sessions, most recently updated first.
    async fn sessions(&self, query: SessionQuery) -> Result<Vec<Session>, Problem> {
        let listed = self.listed_sessions(query).await?;
        Ok(listed.into_iter().map(|listed| listed.session).collect())
    }

    /// Events of a session with a number above `after`, in order, at most `limit`.
    async fn events(
        &self,
        session: &SessionId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<Event>, Problem>;

    /// Permission requests and questions.
    async fn inquiries(&self, which: InquirySelection) -> Result<Vec<ListedInquiry>, Problem>;

    /// One permission request or question by its whole id.
    async fn inquiry(&self, id: &str) -> Result<Option<ListedInquiry>, Problem>;

    /// Permission requests and questions that wait for an answer, the oldest first.
    async fn open_questions(&self) -> Result<Vec<ListedInquiry>, Problem> {
        self.inquiries(InquirySelection::Pending).await
    }

    /// Whether something is left to do in a session, and who works on it.
    async fn session_work(&self, id: &SessionId) -> Result<SessionWork, Problem>;

    /// Background agents and programs, the latest first.
    async fn listed_tasks(&self, query: TaskQuery) -> Result<Vec<ListedTask>, Problem>;

    /// Background agents and programs, of one session or of all, the latest first.
    async fn tasks(&self, session: Option<&SessionId>) -> Result<Vec<TaskRow>, Problem> {
        let query = TaskQuery {
            session: session.cloned(),
            ..TaskQuery::default()
        };
        let listed = self.listed_tasks(query).await?;
        Ok(listed.into_iter().map(|listed| listed.task).collect())
    }

    /// What a background program wrote after so many bytes.
    async fn task_output(&self, task: &str, after: u64) -> Result<Vec<OutputPiece>, Problem>;

    /// Messages and replies that contain words, the best first.
    async fn search(&self, words: &str, limit: usize) -> Result<Vec<FoundWords>, Problem>;

    /// Messages that wait for a session's agent, in the order they are taken.
    async fn waiting(&self, session: &SessionId) -> Result<Vec<WaitingMessage>, Problem>;

    /// The file changes that an undo would take back; none if nothing is left to undo.
    async fn undo_preview(&self, session: &SessionId) -> Result<Option<FileUndo>, Problem>;

    /// Saved permission rules, the oldest first.
    async fn rules(&self) -> Result<Vec<RuleRow>, Problem>;

    /// Runs, the latest first.
    async fn runs(&self, query: RunQuery) -> Result<Vec<RunItem>, Problem>;

    /// One run by its whole id.
    async fn run(&self, id: &RunId) -> Result<Option<RunDetail>, Problem>;

    /// When a run and those below it worked and waited.
    async fn run_spans(&self, id: &RunId) -> Result<Vec<RunSpan>, Problem>;

    /// The board as it is now, of one agent or of all.
    async fn board(&self, agent: Option<&str>) -> Result<BoardSnapshot, Problem>;

    /// The part of a message for a file. Bytes that do not go into the message are stored.
    async fn attach(&self, file: AttachedFile) -> Result<Part, Problem>;

    /// Follows a session and all below it, from after this event on.
    fn follow(&self, session: &SessionId, after: u64) -> EventFeed;

    /// Watches sessions and topics from their cursors on.
    fn watch(&self, request: StreamRequest) -> Watch;
}

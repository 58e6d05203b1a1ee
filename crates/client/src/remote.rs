//! A client of a server, over HTTP or its Unix socket.

mod frame_reader;
mod http;
mod remote_watch;

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use async_trait::async_trait;
use rooftree_protocol::{
    BlobId, Command, Event, Part, Problem, Session, SessionId, Timestamp,
    api_paths::{
        ATTACHMENTS, BOARD, COMMANDS, SESSION, SESSION_EVENTS, SESSIONS, STREAM, STREAM_ONE, TASKS,
        fill,
    },
    command::CommandReply,
};
use rooftree_runtime::AttachedFile;
use rooftree_store::{TaskRow, TaskStatus};
use rooftree_view::{StreamPatch, StreamRequest, board::BoardSnapshot};
use serde::Deserialize;

use self::{
    frame_reader::FrameReader,
    http::{HttpConnection, RefusedRequest},
    remote_watch::RemoteWatch,
};
use crate::{
    EventFeed, PendingQuestion, RuntimeClient, SessionQuery, SessionWork, Watch,
    event_feed::WatchFeed, stream_cursors::StreamCursors,
};

/// Where a server is, and how to be let in.
#[derive(Clone)]
pub struct RemoteOptions {
    /// `http://127.0.0.1:7663`, or a name behind a proxy that ends TLS.
    pub url: String,
    /// The access token; none over the Unix socket.
    pub token: Option<String>,
    /// The server's Unix socket, instead of a connection to the URL's host.
    pub socket: Option<PathBuf>,
    /// Pauses before trying again.
    pub pauses: RetryPauses,
}

impl RemoteOptions {
    /// A server at this address, without a token.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            token: None,
            socket: None,
            pauses: RetryPauses::default(),
        }
    }

    /// With this access token.
    #[must_use]
    pub fn token(mut self, token: impl Into<String>) -> Self {
        self.token = Some(token.into());
        self
    }

    /// Over the Unix socket of a server on this machine.
    #[must_use]
    pub fn socket(mut self, socket: impl Into<PathBuf>) -> Self {
        self.socket = Some(socket.into());
        self
    }
}

impl From<&str> for RemoteOptions {
    fn from(url: &str) -> Self {
        Self::new(url)
    }
}

/// Pauses before a connection is made or a post is sent again: each is twice the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPauses {
    /// The first one.
    pub first: Duration,
    /// The longest one.
    pub longest: Duration,
}

impl Default for RetryPauses {
    fn default() -> Self {
        Self {
            first: Duration::from_millis(500),
            longest: Duration::from_secs(16),
        }
    }
}

impl RetryPauses {
    /// The pause before the attempt with this number, from 1.
    pub(crate) fn before(&self, attempt: u32) -> Duration {
        let doubled = self
            .first
            .saturating_mul(1 << attempt.saturating_sub(1).min(16));
        doubled.min(self.longest)
    }
}

/// A client of a server. Cheap to clone.
#[derive(Clone)]
pub struct RemoteClient {
    http: HttpConnection,
    pub(crate) pauses: RetryPauses,
    /// Makes keys of posts differ.
    keys: Arc<PostKeySource>,
}

struct PostKeySource {
    begin: u128,
    next: AtomicU64,
}

impl RemoteClient {
    /// A client. It connects when it is first used.
    pub fn new(options: RemoteOptions) -> Result<Self, Problem> {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let begin = since.unwrap_or_default().as_nanos() ^ (u128::from(std::process::id()) << 64);
        Ok(Self {
            pauses: options.pauses,
            http: HttpConnection::new(options)?,
            keys: Arc::new(PostKeySource {
                begin,
                next: AtomicU64::new(0),
            }),
        })
    }

    pub(crate) async fn open_stream(
        &self,
        request: &StreamRequest,
    ) -> Result<FrameReader, RefusedRequest> {
        let response = self.http.open_stream(&fill(STREAM, &[]), request).await?;
        Ok(FrameReader::new(response))
    }

    pub(crate) async fn change_stream(
        &self,
        name: &str,
        patch: &StreamPatch,
    ) -> Result<(), RefusedRequest> {
        let path = fill(STREAM_ONE, &[name]);
        let _: serde_json::Value = self.http.patch(&path, patch).await?;
        Ok(())
    }

    /// A number between 0 and 1 that differs from call to call.
    pub(crate) fn jitter(&self) -> f64 {
        let mixed = self.next_number().wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (mixed >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn next_number(&self) -> u64 {
        let number = self.keys.next.fetch_add(1, Ordering::Relaxed) + 1;
        number.wrapping_add(self.keys.begin as u64)
    }

    /// Sends a command once.
    pub(crate) async fn send_once(
        &self,
        command: &Command,
    ) -> Result<CommandReply, RefusedRequest> {
        self.http.post(&fill(COMMANDS, &[]), command).await
    }

    /// The command with a key, if it is a post without one.
    pub(crate) fn keyed(&self, mut command: Command) -> Command {
        if let Command::Post { key, .. } = &mut command
            && key.is_none()
        {
            *key = Some(format!(
                "client-{:x}-{:x}",
                self.keys.begin,
                self.next_number()
            ));
        }
        command
    }
}

#[derive(Deserialize)]
struct SessionsAnswer {
    sessions: Vec<Session>,
}

#[derive(Deserialize)]
struct EventsAnswer {
    events: Vec<Event>,
}

#[derive(Deserialize)]
struct QuestionsAnswer {
    questions: Vec<PendingQuestion>,
}

#[derive(Deserialize)]
struct WorkAnswer {
    state: String,
}

#[derive(Deserialize)]
struct UploadAnswer {
    blob: BlobId,
}

#[derive(Deserialize)]
struct TasksAnswer {
    tasks: Vec<TaskAnswer>,
    next: Option<String>,
}

#[derive(Deserialize)]
struct TaskAnswer {
    task: String,
    session: SessionId,
    kind: String,
    title: String,
    state: TaskStatus,
    detail: String,
    started_at: Timestamp,
    ended_at: Option<Timestamp>,
    child: Option<SessionId>,
}

impl From<TaskAnswer> for TaskRow {
    fn from(task: TaskAnswer) -> Self {
        Self {
            id: task.task,
            session: task.session,
            kind: task.kind,
            title: task.title,
            status: task.state,
            process_group: None,
            detail: task.detail,
            started_at: task.started_at,
            ended_at: task.ended_at,
            child: task.child,
            data: serde_json::Map::new(),
        }
    }
}

#[async_trait]
impl RuntimeClient for RemoteClient {
    async fn send(&self, command: Command) -> Result<CommandReply, Problem> {
        let command = self.keyed(command);
        self.send_once(&command)
            .await
            .map_err(|refused| refused.problem)
    }

    async fn session(&self, id: &SessionId) -> Result<Option<Session>, Problem> {
        match self.http.get(&fill(SESSION, &[id.as_str()])).await {
            Ok(session) => Ok(Some(session)),
            Err(refused) if refused.is_not_found => Ok(None),
            Err(refused) => Err(refused.problem),
        }
    }

    async fn sessions(&self, query: SessionQuery) -> Result<Vec<Session>, Problem> {
        let agent = query.agent.map(|agent| ("agent", agent));
        let limit = query.limit.map(|limit| ("limit", limit.to_string()));
        let query: Vec<(&str, String)> = agent.into_iter().chain(limit).collect();
        let found: SessionsAnswer = self.http.get_with(&fill(SESSIONS, &[]), &query).await?;
        Ok(found.sessions)
    }

    async fn events(
        &self,
        session: &SessionId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<Event>, Problem> {
        let path = fill(SESSION_EVENTS, &[session.as_str()]);
        let query = [("after", after.to_string()), ("limit", limit.to_string())];
        let found: EventsAnswer = self.http.get_with(&path, &query).await?;
        Ok(found.events)
    }

    async fn open_questions(&self) -> Result<Vec<PendingQuestion>, Problem> {
        let path = fill(rooftree_protocol::api_paths::OPEN_QUESTIONS, &[]);
        let found: QuestionsAnswer = self.http.get(&path).await?;
        Ok(found.questions)
    }

    async fn session_work(&self, id: &SessionId) -> Result<SessionWork, Problem> {
        let found: WorkAnswer = self.http.get(&fill(SESSION, &[id.as_str()])).await?;
        Ok(SessionWork {
            is_unfinished: found.state != "resting",
            elsewhere: None,
        })
    }

    async fn tasks(&self, session: Option<&SessionId>) -> Result<Vec<TaskRow>, Problem> {
        let mut tasks = Vec::new();
        let mut cursor: Option<String> = None;
        loop {
            let session = session.map(|session| ("session", session.to_string()));
            let page = cursor.take().map(|cursor| ("cursor", cursor));
            let query: Vec<(&str, String)> = session.into_iter().chain(page).collect();
            let page: TasksAnswer = self.http.get_with(&fill(TASKS, &[]), &query).await?;
            tasks.extend(page.tasks.into_iter().map(TaskRow::from));
            match page.next {
                Some(next) => cursor = Some(next),
                None => return Ok(tasks),
            }
        }
    }

    async fn board(&self, agent: Option<&str>) -> Result<BoardSnapshot, Problem> {
        let agent = agent.map(|agent| ("agent", agent.to_owned()));
        let query: Vec<(&str, String)> = agent.into_iter().collect();
        Ok(self.http.get_with(&fill(BOARD, &[]), &query).await?)
    }

    async fn attach(&self, file: AttachedFile) -> Result<Part, Problem> {
        if let Some(inline) = file.inline_part() {
            return Ok(inline);
        }
        let path = fill(ATTACHMENTS, &[]);
        let uploaded: UploadAnswer = self.http.upload(&path, file.bytes.clone()).await?;
        Ok(file.uploaded_part(uploaded.blob))
    }

    fn follow(&self, session: &SessionId, after: u64) -> EventFeed {
        let watch = self.watch(WatchFeed::request(session, after));
        EventFeed::new(WatchFeed::new(watch, session.clone()))
    }

    fn watch(&self, request: StreamRequest) -> Watch {
        let cursors = StreamCursors::new(request);
        Watch::new(RemoteWatch::new(self.clone(), cursors))
    }
}

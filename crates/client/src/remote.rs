//! A client of a server, over HTTP or its Unix socket.

mod answers;
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
    AgentDefinition, Command, Event, Lane, Part, Problem, QuestionId, RunId, Session, SessionId,
    api_paths::{
        AGENT, AGENTS, ATTACHMENTS, BOARD, COMMANDS, PERMISSION, PERMISSIONS, QUESTION, QUESTIONS,
        RULES, RUN, RUN_TRACE, RUNS, SEARCH, SESSION, SESSION_EVENTS, SESSION_EXPORT,
        SESSION_QUEUE, SESSION_UNDO, SESSIONS, STREAM, STREAM_ONE, TASK_OUTPUT, TASKS, fill,
    },
    command::CommandReply,
    file_undo::FileUndo,
};
use rooftree_runtime::AttachedFile;
use rooftree_store::{OutputPiece, RuleRow};
use rooftree_view::{
    RunDetail, RunItem, RunSpan, StreamPatch, StreamRequest, board::BoardSnapshot,
};
use serde::de::DeserializeOwned;

pub use self::answers::RemoteExport;
use self::{
    answers::{
        AgentAnswer, AgentsAnswer, AnswerPage, EventsAnswer, HitsAnswer, OutputAnswer,
        PermissionsPage, QuestionsPage, QueueAnswer, RulesAnswer, RunsPage, SessionsPage,
        SpansAnswer, TasksPage, UndoAnswer, UploadAnswer, WorkAnswer, inquiry,
    },
    frame_reader::FrameReader,
    http::{HttpConnection, RefusedRequest},
    remote_watch::RemoteWatch,
};
use crate::{
    EventFeed, FoundWords, InquirySelection, ListedInquiry, ListedSession, ListedTask, RunQuery,
    RuntimeClient, SessionQuery, SessionStanding, SessionWork, TaskQuery, WaitingMessage, Watch,
    event_feed::WatchFeed, stream_cursors::StreamCursors,
};

/// Rows of a list that are asked for at a time: as many as a server sends.
const PAGE: usize = 200;

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

impl RemoteClient {
    /// All rows of a list, page by page, at most `most`.
    async fn listed<P: AnswerPage>(
        &self,
        path: &str,
        query: &[(&str, Option<String>)],
        most: usize,
    ) -> Result<Vec<P::Row>, Problem> {
        let given = query
            .iter()
            .filter_map(|(name, value)| Some((*name, value.clone()?)));
        let given: Vec<(&str, String)> = given.collect();
        let (mut rows, mut cursor) = (Vec::new(), None);
        while rows.len() < most {
            let limit = (most - rows.len()).min(PAGE).to_string();
            let place = [("limit", Some(limit)), ("cursor", cursor.take())];
            let place = place
                .into_iter()
                .filter_map(|(name, value)| Some((name, value?)));
            let query: Vec<(&str, String)> = given.iter().cloned().chain(place).collect();
            let page: P = self.http.get_with(&fill(path, &[]), &query).await?;
            let (found, next) = page.into_parts();
            rows.extend(found);
            match next {
                Some(next) => cursor = Some(next),
                None => break,
            }
        }
        Ok(rows)
    }

    /// What has this path; none if it is not there for this caller.
    async fn found<T: DeserializeOwned>(&self, path: &str) -> Result<Option<T>, Problem> {
        match self.http.get(path).await {
            Ok(found) => Ok(Some(found)),
            Err(refused) if refused.is_not_found => Ok(None),
            Err(refused) => Err(refused.problem),
        }
    }

    /// The agents of the server, by name.
    pub async fn agents(&self) -> Result<Vec<AgentDefinition>, Problem> {
        let listed: AgentsAnswer = self.http.get(&fill(AGENTS, &[])).await?;
        let shown = listed.agents.iter().map(|agent| self.agent(&agent.name));
        futures::future::try_join_all(shown).await
    }

    /// One agent of the server, without the values of variables and headers of MCP servers.
    pub async fn agent(&self, name: &str) -> Result<AgentDefinition, Problem> {
        let shown: AgentAnswer = self.http.get(&fill(AGENT, &[name])).await?;
        Ok(shown.definition)
    }

    /// A session with all its events and the bytes they name.
    pub async fn export(&self, session: &SessionId) -> Result<RemoteExport, Problem> {
        let path = fill(SESSION_EXPORT, &[session.as_str()]);
        Ok(self.http.get(&path).await?)
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
        self.found(&fill(SESSION, &[id.as_str()])).await
    }

    async fn listed_sessions(&self, query: SessionQuery) -> Result<Vec<ListedSession>, Problem> {
        let flag = |is_set: bool| is_set.then(|| "true".to_owned());
        let most = query.limit.unwrap_or(SessionQuery::LIMIT);
        let query = [
            ("agent", query.agent),
            ("called", query.called),
            ("cwd", query.cwd.map(|cwd| cwd.display().to_string())),
            ("delegated", flag(query.delegated)),
            ("deleted", flag(query.deleted)),
        ];
        self.listed::<SessionsPage>(SESSIONS, &query, most).await
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

    async fn inquiries(&self, which: InquirySelection) -> Result<Vec<ListedInquiry>, Problem> {
        let state = match which {
            InquirySelection::Pending => "pending",
            InquirySelection::Answered => "answered",
        };
        let query = [("state", Some(state.to_owned()))];
        let permissions = self.listed::<PermissionsPage>(PERMISSIONS, &query, usize::MAX);
        let questions = self.listed::<QuestionsPage>(QUESTIONS, &query, usize::MAX);
        let (permissions, questions) = futures::try_join!(permissions, questions)?;
        let both = permissions.into_iter().chain(questions);
        let mut found = both.map(inquiry).collect::<Result<Vec<_>, Problem>>()?;
        found.sort_by(|one, other| (one.asked_at, &one.id).cmp(&(other.asked_at, &other.id)));
        if which == InquirySelection::Answered {
            found.reverse();
        }
        Ok(found)
    }

    async fn inquiry(&self, id: &str) -> Result<Option<ListedInquiry>, Problem> {
        let path = if id.starts_with(QuestionId::PREFIX) {
            QUESTION
        } else {
            PERMISSION
        };
        let found = self.found(&fill(path, &[id])).await?;
        found.map(inquiry).transpose()
    }

    async fn session_work(&self, id: &SessionId) -> Result<SessionWork, Problem> {
        let found: WorkAnswer = self.http.get(&fill(SESSION, &[id.as_str()])).await?;
        Ok(SessionWork {
            is_unfinished: found.state != SessionStanding::Resting,
            is_worked_on: found.state == SessionStanding::Working,
            elsewhere: None,
        })
    }

    async fn listed_tasks(&self, query: TaskQuery) -> Result<Vec<ListedTask>, Problem> {
        let query = [
            ("session", query.session.map(|session| session.to_string())),
            ("ending", query.ending),
        ];
        let found = self.listed::<TasksPage>(TASKS, &query, usize::MAX).await?;
        Ok(found.into_iter().map(ListedTask::from).collect())
    }

    async fn task_output(&self, task: &str, after: u64) -> Result<Vec<OutputPiece>, Problem> {
        let query = [("after", after.to_string())];
        let path = fill(TASK_OUTPUT, &[task]);
        let answer: OutputAnswer = self.http.get_with(&path, &query).await?;
        Ok(answer.piece().into_iter().collect())
    }

    async fn search(&self, words: &str, limit: usize) -> Result<Vec<FoundWords>, Problem> {
        let query = [
            ("q", words.to_owned()),
            ("limit", limit.min(PAGE).to_string()),
        ];
        let found: HitsAnswer = self.http.get_with(&fill(SEARCH, &[]), &query).await?;
        Ok(found.hits)
    }

    async fn waiting(&self, session: &SessionId) -> Result<Vec<WaitingMessage>, Problem> {
        let found: QueueAnswer = self
            .http
            .get(&fill(SESSION_QUEUE, &[session.as_str()]))
            .await?;
        let steering = found
            .steering
            .into_iter()
            .map(|item| item.in_lane(Lane::Boundary));
        let queued = found
            .queued
            .into_iter()
            .map(|item| item.in_lane(Lane::Mail));
        Ok(steering.chain(queued).collect())
    }

    async fn undo_preview(&self, session: &SessionId) -> Result<Option<FileUndo>, Problem> {
        let found: UndoAnswer = self
            .http
            .get(&fill(SESSION_UNDO, &[session.as_str()]))
            .await?;
        Ok(found.undo)
    }

    async fn rules(&self) -> Result<Vec<RuleRow>, Problem> {
        let found: RulesAnswer = self.http.get(&fill(RULES, &[])).await?;
        Ok(found.rules.into_iter().map(RuleRow::from).collect())
    }

    async fn runs(&self, query: RunQuery) -> Result<Vec<RunItem>, Problem> {
        let most = query.limit.unwrap_or(usize::MAX);
        let query = [
            ("session", query.session.map(|session| session.to_string())),
            ("parent", query.parent.map(|parent| parent.to_string())),
            ("roots", query.roots.then(|| "true".to_owned())),
            ("ending", query.ending),
        ];
        self.listed::<RunsPage>(RUNS, &query, most).await
    }

    async fn run(&self, id: &RunId) -> Result<Option<RunDetail>, Problem> {
        self.found(&fill(RUN, &[id.as_str()])).await
    }

    async fn run_spans(&self, id: &RunId) -> Result<Vec<RunSpan>, Problem> {
        let found: SpansAnswer = self.http.get(&fill(RUN_TRACE, &[id.as_str()])).await?;
        Ok(found.spans)
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

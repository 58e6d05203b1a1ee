//! A client of the runtime in this process.

use std::sync::Arc;

use async_trait::async_trait;
use rooftree_protocol::{
    Command, ErrorCode, Event, Lane, Limits, Part, Principal, Problem, RunId, Session, SessionId,
    Timestamp, command::CommandReply, file_undo::FileUndo,
};
use rooftree_runtime::{
    AttachedFile, BoardFilter, BoardPage, Clock, EventFilter, Handle, gather_spans,
};
use rooftree_store::{
    Inquiry, OutputPiece, Owner, RuleRow, RunFilter, RunRow, SessionFilter, TaskFilter, TaskStatus,
};
use rooftree_stream::{EventStream, StreamSetup};
use rooftree_view::{
    ByeReason, RunDetail, RunItem, RunSpan, StreamFrame, StreamLimits, StreamPatch, StreamRequest,
    board::BoardSnapshot,
};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::{
    AnswerState, EventFeed, FoundWords, InquirySelection, ListedInquiry, ListedSession, ListedTask,
    RunQuery, RuntimeClient, SessionQuery, SessionStanding, SessionWork, TaskQuery, WaitingMessage,
    Watch, WatchUpdate,
    stream_cursors::{FrameCheck, StreamCursors},
    watch::WatchSource,
};

/// A client of the runtime in this process, acting as one principal.
#[derive(Clone)]
pub struct EmbeddedClient {
    handle: Handle,
    clock: Arc<dyn Clock>,
    who: Principal,
}

impl EmbeddedClient {
    /// A client for this principal.
    pub fn new(handle: Handle, clock: Arc<dyn Clock>, who: Principal) -> Self {
        Self { handle, clock, who }
    }
}

#[async_trait]
impl RuntimeClient for EmbeddedClient {
    async fn send(&self, command: Command) -> Result<CommandReply, Problem> {
        let sent = self.handle.send(&self.who, command).await;
        sent.map_err(|error| error.problem())
    }

    async fn session(&self, id: &SessionId) -> Result<Option<Session>, Problem> {
        let found = self.handle.queries(&self.who).session(id).await;
        found.map_err(|error| error.problem())
    }

    async fn listed_sessions(&self, query: SessionQuery) -> Result<Vec<ListedSession>, Problem> {
        let only_of_people = !query.delegated && query.called.is_none();
        let limit = query.limit.unwrap_or(SessionQuery::LIMIT);
        let filter = SessionFilter {
            agent: query.agent,
            called: query.called,
            cwd: query.cwd,
            top_level: only_of_people.then_some(true),
            deleted: query.deleted,
            // Zero is for all.
            limit: if limit == usize::MAX { 0 } else { limit },
            ..SessionFilter::default()
        };
        let queries = self.handle.queries(&self.who);
        let sessions = queries.sessions(filter).await.map_err(in_words)?;
        let unfinished = queries.unfinished().await.map_err(in_words)?;
        let mut listed = Vec::with_capacity(sessions.len());
        for session in sessions {
            let state = if !unfinished.contains(&session.id) {
                SessionStanding::Resting
            } else if queries.is_worked_on(&session.id).await.map_err(in_words)? {
                SessionStanding::Working
            } else {
                SessionStanding::Unfinished
            };
            listed.push(ListedSession { session, state });
        }
        Ok(listed)
    }

    async fn events(
        &self,
        session: &SessionId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<Event>, Problem> {
        let queries = self.handle.queries(&self.who);
        let found = queries.events(session, after, limit).await;
        found.map_err(|error| error.problem())
    }

    async fn inquiries(&self, which: InquirySelection) -> Result<Vec<ListedInquiry>, Problem> {
        let (queries, now) = (self.handle.queries(&self.who), self.clock.now());
        let found = match which {
            InquirySelection::Pending => {
                let mut open = queries.inquiries(None).await.map_err(in_words)?;
                open.retain(|inquiry| state(inquiry, now) == AnswerState::Pending);
                open.sort_by(|one, other| {
                    (one.asked_at, &one.id).cmp(&(other.asked_at, &other.id))
                });
                open
            }
            InquirySelection::Answered => {
                let since = Timestamp(now.0 - HISTORY_MS);
                let found = queries.inquiry_history(since, None, HISTORY_MOST).await;
                found.map_err(in_words)?
            }
        };
        let listed = |inquiry| listed_inquiry(inquiry, now);
        Ok(found.into_iter().map(listed).collect())
    }

    async fn inquiry(&self, id: &str) -> Result<Option<ListedInquiry>, Problem> {
        let found = self.handle.queries(&self.who).inquiry(id).await;
        let found = found.map_err(in_words)?;
        let now = self.clock.now();
        Ok(found.map(|inquiry| listed_inquiry(inquiry, now)))
    }

    async fn session_work(&self, id: &SessionId) -> Result<SessionWork, Problem> {
        let queries = self.handle.queries(&self.who);
        let is_unfinished = queries.is_unfinished(id).await.map_err(in_words)?;
        let owner = queries.owner(id).await.map_err(in_words)?;
        let us = Owner::this_process();
        let living = owner.filter(|owner| !owner.is_dead_for(&us));
        let is_worked_on = living.is_some();
        let other = living.filter(|owner| *owner != us);
        Ok(SessionWork {
            is_unfinished,
            is_worked_on,
            elsewhere: other.map(|owner| format!("process {} on {}", owner.pid, owner.host)),
        })
    }

    async fn listed_tasks(&self, query: TaskQuery) -> Result<Vec<ListedTask>, Problem> {
        let filter = TaskFilter {
            session: query.session,
            ending: query.ending,
            ..TaskFilter::default()
        };
        let queries = self.handle.queries(&self.who);
        let mut listed = Vec::new();
        for task in queries.tasks(filter).await.map_err(in_words)? {
            let is_running = task.status == TaskStatus::Running;
            let is_left = is_running && queries.is_left(&task).await.map_err(in_words)?;
            listed.push(ListedTask { task, is_left });
        }
        Ok(listed)
    }

    async fn task_output(&self, task: &str, after: u64) -> Result<Vec<OutputPiece>, Problem> {
        let found = self.handle.queries(&self.who).output(task, after).await;
        found.map_err(in_words)
    }

    async fn search(&self, words: &str, limit: usize) -> Result<Vec<FoundWords>, Problem> {
        let found = self.handle.queries(&self.who).search(words, limit).await;
        let found = found.map_err(in_words)?.into_iter().map(|hit| FoundWords {
            session: hit.session.id,
            agent: hit.session.agent,
            name: hit.session.name,
            event: hit.event,
            snippet: hit.snippet,
        });
        Ok(found.collect())
    }

    async fn waiting(&self, session: &SessionId) -> Result<Vec<WaitingMessage>, Problem> {
        let most = usize::try_from(Limits::default().inbox).unwrap_or(usize::MAX);
        let queries = self.handle.queries(&self.who);
        let mut waiting = Vec::new();
        for lane in [Lane::Boundary, Lane::Mail] {
            let items = queries
                .waiting(session, lane, most)
                .await
                .map_err(in_words)?;
            waiting.extend(items.into_iter().map(|item| WaitingMessage {
                lane,
                position: item.position,
                withdrawn: item.withdrawn.is_some(),
                message: item.message.id,
                parts: item.message.parts,
                silent: item.message.silent,
                revision: item.message.revision,
                at: item.message.at,
            }));
        }
        Ok(waiting)
    }

    async fn undo_preview(&self, session: &SessionId) -> Result<Option<FileUndo>, Problem> {
        let preview = self.handle.queries(&self.who).undo_preview(session).await;
        preview.map_err(|error| error.problem())
    }

    async fn rules(&self) -> Result<Vec<RuleRow>, Problem> {
        let rules = self.handle.queries(&self.who).rules().await;
        rules.map_err(in_words)
    }

    async fn runs(&self, query: RunQuery) -> Result<Vec<RunItem>, Problem> {
        let filter = RunFilter {
            session: query.session,
            parent: query.parent,
            roots: query.roots,
            ending: query.ending,
            limit: query.limit.unwrap_or(0),
            ..RunFilter::default()
        };
        let queries = self.handle.queries(&self.who);
        let mut items = Vec::new();
        for row in queries.runs(filter).await.map_err(in_words)? {
            items.extend(queries.run_item(&row).await.map_err(in_words)?);
        }
        Ok(items)
    }

    async fn run(&self, id: &RunId) -> Result<Option<RunDetail>, Problem> {
        let Some(row) = self.run_row(id).await? else {
            return Ok(None);
        };
        let detail = self.handle.queries(&self.who).run_detail(row).await;
        detail.map_err(in_words)
    }

    async fn run_spans(&self, id: &RunId) -> Result<Vec<RunSpan>, Problem> {
        let Some(row) = self.run_row(id).await? else {
            let message = format!("there is no run {id}");
            return Err(Problem::new(ErrorCode::TaskNotFound, message));
        };
        let queries = self.handle.queries(&self.who);
        gather_spans(&queries, row, self.clock.now()).await
    }

    async fn board(&self, agent: Option<&str>) -> Result<BoardSnapshot, Problem> {
        let filter = BoardFilter {
            agent: agent.map(str::to_owned),
            ..BoardFilter::default()
        };
        let page = self.handle.queries(&self.who).board(filter).await;
        let BoardPage { rev, rows, .. } = page.map_err(|error| error.problem())?;
        Ok(BoardSnapshot { rev, rows })
    }

    async fn attach(&self, file: AttachedFile) -> Result<Part, Problem> {
        let part = self.handle.attachment(&self.who, file).await;
        part.map_err(|error| error.problem())
    }

    fn follow(&self, session: &SessionId, after: u64) -> EventFeed {
        let session = session.clone();
        let filter = EventFilter { session, after };
        EventFeed::new(self.handle.subscribe_tree(&self.who, filter))
    }

    fn watch(&self, request: StreamRequest) -> Watch {
        let (stream, changes) = self.open_stream(request.clone());
        Watch::new(EmbeddedWatch {
            client: self.clone(),
            cursors: StreamCursors::new(request),
            stream,
            changes,
        })
    }
}

impl EmbeddedClient {
    async fn run_row(&self, id: &RunId) -> Result<Option<RunRow>, Problem> {
        let filter = RunFilter {
            run: Some(id.clone()),
            limit: 1,
            ..RunFilter::default()
        };
        let found = self.handle.queries(&self.who).runs(filter).await;
        Ok(found.map_err(in_words)?.pop())
    }

    fn open_stream(&self, request: StreamRequest) -> (EventStream, mpsc::Sender<StreamPatch>) {
        let (changes, patches) = mpsc::channel(16);
        let setup = StreamSetup {
            handle: self.handle.clone(),
            clock: self.clock.clone(),
            who: self.who.clone(),
            name: "embedded".into(),
            boot: "embedded".into(),
            limits: StreamLimits {
                sessions: usize::MAX,
                streams: usize::MAX,
            },
            changes: patches,
            stopping: CancellationToken::new(),
        };
        (EventStream::new(setup, request), changes)
    }
}

/// A watch in the same process. A reader that was too slow, for instance because its process was stopped, continues at
/// its cursors.
struct EmbeddedWatch {
    client: EmbeddedClient,
    cursors: StreamCursors,
    stream: EventStream,
    changes: mpsc::Sender<StreamPatch>,
}

#[async_trait]
impl WatchSource for EmbeddedWatch {
    async fn next(&mut self) -> Option<WatchUpdate> {
        loop {
            let frame = self.stream.next().await?;
            if let StreamFrame::Bye(bye) = &frame
                && bye.reason == ByeReason::Lagging
            {
                (self.stream, self.changes) = self.client.open_stream(self.cursors.request());
                continue;
            }
            if self.cursors.take(&frame) == FrameCheck::Deliver {
                return Some(WatchUpdate::Frame(Box::new(frame)));
            }
        }
    }

    async fn change(&mut self, patch: StreamPatch) -> Result<(), Problem> {
        self.cursors.change(&patch);
        // A stream that is gone has ended.
        let _ = self.changes.send(patch).await;
        Ok(())
    }
}

/// Answered requests that are listed at most.
const HISTORY_MOST: usize = 10_000;
/// How far back answered requests are listed: 30 days.
const HISTORY_MS: i64 = 30 * 24 * 60 * 60 * 1000;

fn state(inquiry: &Inquiry, now: Timestamp) -> AnswerState {
    match (&inquiry.answer, inquiry.settled) {
        (Some(_), _) => AnswerState::Answered,
        (None, _) if inquiry.until <= now => AnswerState::Expired,
        (None, true) => AnswerState::Withdrawn,
        (None, false) => AnswerState::Pending,
    }
}

fn listed_inquiry(inquiry: Inquiry, now: Timestamp) -> ListedInquiry {
    ListedInquiry {
        state: state(&inquiry, now),
        by: inquiry.answer.map(|answer| answer.by),
        id: inquiry.id,
        session: inquiry.session,
        root: inquiry.root,
        run: inquiry.run,
        agent: inquiry.agent,
        digest: inquiry.digest,
        asked: inquiry.asked,
        asked_at: inquiry.asked_at,
        until: inquiry.until,
    }
}

fn in_words(error: rooftree_store::Error) -> Problem {
    error.problem()
}

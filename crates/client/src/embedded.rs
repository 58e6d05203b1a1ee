//! A client of the runtime in this process.

use std::sync::Arc;

use async_trait::async_trait;
use rooftree_protocol::{
    Command, Event, Part, Principal, Problem, Session, SessionId, command::CommandReply,
};
use rooftree_runtime::{AttachedFile, BoardFilter, BoardPage, Clock, EventFilter, Handle};
use rooftree_store::{Inquiry, Owner, SessionFilter, TaskFilter, TaskRow};
use rooftree_stream::{EventStream, StreamSetup};
use rooftree_view::{
    ByeReason, StreamFrame, StreamLimits, StreamPatch, StreamRequest, board::BoardSnapshot,
};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::{
    EventFeed, PendingQuestion, RuntimeClient, SessionQuery, SessionWork, Watch, WatchUpdate,
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

    async fn sessions(&self, query: SessionQuery) -> Result<Vec<Session>, Problem> {
        let filter = SessionFilter {
            agent: query.agent,
            top_level: Some(true),
            limit: query.limit.unwrap_or(50),
            ..SessionFilter::default()
        };
        let found = self.handle.queries(&self.who).sessions(filter).await;
        found.map_err(|error| error.problem())
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

    async fn open_questions(&self) -> Result<Vec<PendingQuestion>, Problem> {
        let open = self.handle.queries(&self.who).inquiries(None).await;
        let open = open.map_err(|error| error.problem())?;
        Ok(open
            .into_iter()
            .filter(|inquiry| inquiry.answer.is_none())
            .map(question)
            .collect())
    }

    async fn session_work(&self, id: &SessionId) -> Result<SessionWork, Problem> {
        let queries = self.handle.queries(&self.who);
        let is_unfinished = queries.is_unfinished(id).await;
        let owner = queries.owner(id).await.map_err(|error| error.problem())?;
        let us = Owner::this_process();
        let owner = owner.filter(|owner| *owner != us && !owner.is_dead_for(&us));
        Ok(SessionWork {
            is_unfinished: is_unfinished.map_err(|error| error.problem())?,
            elsewhere: owner.map(|owner| format!("process {} on {}", owner.pid, owner.host)),
        })
    }

    async fn tasks(&self, session: Option<&SessionId>) -> Result<Vec<TaskRow>, Problem> {
        let filter = TaskFilter {
            session: session.cloned(),
            ..TaskFilter::default()
        };
        let found = self.handle.queries(&self.who).tasks(filter).await;
        found.map_err(|error| error.problem())
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

fn question(inquiry: Inquiry) -> PendingQuestion {
    PendingQuestion {
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

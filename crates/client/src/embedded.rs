//! A client of the runtime in this process.

use std::sync::Arc;

use async_trait::async_trait;
use rooftree_protocol::{
    Command, Event, Principal, Problem, Session, SessionId, command::CommandReply,
};
use rooftree_runtime::{Clock, Handle};
use rooftree_store::{Inquiry, SessionFilter};
use rooftree_stream::{EventStream, StreamSetup};
use rooftree_view::{StreamLimits, StreamPatch, StreamRequest};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::{PendingQuestion, RuntimeClient, SessionQuery, Watch, WatchUpdate, watch::WatchSource};

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

    fn watch(&self, request: StreamRequest) -> Watch {
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
        Watch::new(EmbeddedWatch {
            stream: EventStream::new(setup, request),
            changes,
        })
    }
}

/// A watch in the same process.
struct EmbeddedWatch {
    stream: EventStream,
    changes: mpsc::Sender<StreamPatch>,
}

#[async_trait]
impl WatchSource for EmbeddedWatch {
    async fn next(&mut self) -> Option<WatchUpdate> {
        let frame = self.stream.next().await?;
        Some(WatchUpdate::Frame(Box::new(frame)))
    }

    async fn change(&mut self, patch: StreamPatch) -> Result<(), Problem> {
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

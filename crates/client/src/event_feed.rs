//! A feed: the events of a session and of all below it, and over HTTP the state of the connection.
//!
//! After a break the server tells what a reply says so far. What was not received of it comes as one more delta, so a
//! reader that adds deltas up has the whole text.

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    sync::Arc,
};

use async_trait::async_trait;
use rooftree_protocol::{
    ErrorCode, Event, EventBody, MessageId, Problem, SessionId,
    event::{ReplyPlace, VERSION},
};
use rooftree_runtime::TreeSubscription;
use rooftree_view::{
    DraftText, SessionSnapshot, SessionStart, StreamCursor, StreamFrame, StreamRequest,
};

use crate::{ConnectionState, Watch, WatchUpdate};

/// What a feed tells.
#[derive(Clone, Debug, PartialEq)]
pub enum FeedUpdate {
    /// An event. Durable ones come once, and those of each session in order and without a gap.
    Event(Arc<Event>),
    /// The connection changed.
    Connection(ConnectionState),
}

/// Events of a session and of all below it, until it is dropped. Dropping it cancels nothing.
pub struct EventFeed(Box<dyn FeedSource>);

/// Where the updates of a feed come from.
#[async_trait]
pub(crate) trait FeedSource: Send {
    async fn next(&mut self) -> Result<FeedUpdate, Problem>;
}

impl EventFeed {
    pub(crate) fn new(source: impl FeedSource + 'static) -> Self {
        Self(Box::new(source))
    }

    /// The next update; an error if there will be no more.
    pub async fn next(&mut self) -> Result<FeedUpdate, Problem> {
        self.0.next().await
    }
}

#[async_trait]
impl FeedSource for TreeSubscription {
    async fn next(&mut self) -> Result<FeedUpdate, Problem> {
        let event = TreeSubscription::next(self).await;
        event
            .map(FeedUpdate::Event)
            .map_err(|error| error.problem())
    }
}

/// A feed made of the frames of a watch.
pub(crate) struct WatchFeed {
    watch: Watch,
    root: SessionId,
    /// How many bytes of the text and of the thinking of each unfinished reply were told.
    told: HashMap<MessageId, (u64, u64)>,
    ready: VecDeque<Arc<Event>>,
}

impl WatchFeed {
    /// What a stream is asked for to follow a session.
    pub(crate) fn request(session: &SessionId, after: u64) -> StreamRequest {
        let cursor = StreamCursor {
            after: Some(after),
            tree: true,
            below: (after == 0).then(BTreeMap::new),
            since: None,
        };
        StreamRequest {
            sessions: BTreeMap::from([(session.clone(), SessionStart::Detailed(cursor))]),
            ..StreamRequest::default()
        }
    }

    pub(crate) fn new(watch: Watch, root: SessionId) -> Self {
        Self {
            watch,
            root,
            told: HashMap::new(),
            ready: VecDeque::new(),
        }
    }

    /// Remembers how far a reply was told.
    fn note(&mut self, body: &EventBody) {
        match body {
            EventBody::MessageDelta {
                text,
                place: Some(place),
            } => self.told(&place.message).0 = place.at + text.len() as u64,
            EventBody::ThinkingDelta {
                text,
                place: Some(place),
            } => self.told(&place.message).1 = place.at + text.len() as u64,
            EventBody::MessageCompleted(reply) => {
                reply.message.as_ref().map(|id| self.told.remove(id));
            }
            _ => {}
        }
    }

    fn told(&mut self, message: &MessageId) -> &mut (u64, u64) {
        self.told.entry(message.clone()).or_default()
    }

    /// Tells what a snapshot knows of unfinished replies and was not told yet.
    fn catch_up(&mut self, snapshot: &SessionSnapshot) {
        for draft in &snapshot.messages {
            let (text, thinking) = *self.told(&draft.id);
            let place = |at| {
                let message = draft.id.clone();
                Some(ReplyPlace { message, at })
            };
            if let Some(rest) = rest(&draft.thinking, thinking) {
                let (text, place) = (rest, place(thinking));
                let body = EventBody::ThinkingDelta { text, place };
                self.add(snapshot, draft, body);
            }
            if let Some(rest) = rest(&draft.text, text) {
                let (text, place) = (rest, place(text));
                self.add(snapshot, draft, EventBody::MessageDelta { text, place });
            }
        }
    }

    fn add(&mut self, snapshot: &SessionSnapshot, draft: &DraftText, body: EventBody) {
        self.note(&body);
        self.ready.push_back(Arc::new(Event {
            v: VERSION,
            id: None,
            ts: snapshot.meta.updated_at,
            session: snapshot.session.clone(),
            run: draft.run.clone(),
            parent_run: None,
            agent: snapshot.meta.agent.clone(),
            who: None,
            body,
        }));
    }
}

/// The text after so many bytes; none if there is no more.
fn rest(text: &str, told: u64) -> Option<String> {
    let rest = text.get(usize::try_from(told).ok()?..)?;
    (!rest.is_empty()).then(|| rest.to_owned())
}

#[async_trait]
impl FeedSource for WatchFeed {
    async fn next(&mut self) -> Result<FeedUpdate, Problem> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Ok(FeedUpdate::Event(event));
            }
            let Some(update) = self.watch.next().await else {
                return Err(Problem::new(ErrorCode::Internal, "the stream ended"));
            };
            let frame = match update {
                WatchUpdate::Connection(ConnectionState::Blocked(problem)) => return Err(problem),
                WatchUpdate::Connection(state) => return Ok(FeedUpdate::Connection(state)),
                WatchUpdate::Frame(frame) => *frame,
            };
            match frame {
                StreamFrame::Event(event) => {
                    self.note(&event.body);
                    return Ok(FeedUpdate::Event(event));
                }
                StreamFrame::Snapshot(snapshot) => self.catch_up(&snapshot),
                StreamFrame::Removed(removed) if removed.session == self.root => {
                    return Err(Problem::new(
                        ErrorCode::SessionNotFound,
                        format!("session {} cannot be followed any more", self.root),
                    )
                    .cause(removed.reason));
                }
                _ => {}
            }
        }
    }
}

//! One open stream: watches sessions and topics and makes the frames for its reader, one at a time.
//!
//! Invariant: durable events of a session are sent in order and without a gap, from its cursor on. A frame that a client
//! has received never has to be taken back.

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    sync::Arc,
    time::Duration,
};

use futures::{StreamExt, stream::FuturesUnordered};
use rooftree_protocol::{Event, EventBody, Principal, SessionId};
use rooftree_runtime::{Clock, Error, Handle};
use rooftree_view::{
    AddedSession, ByeReason, RemovedSession, STREAM_VERSION, SessionStart, StreamBeat, StreamBye,
    StreamFrame, StreamHello, StreamLimits, StreamPatch, StreamRequest, matches_type,
};
use tokio::{
    sync::{mpsc, watch},
    time::{Instant, sleep_until},
};
use tokio_util::sync::CancellationToken;

use crate::{
    session_progress::{DeltaPlace, SessionProgress},
    session_source::{NextEvent, SessionSource, visible},
    snapshot::snapshot,
    topics::TopicWatches,
};

/// Time between two beats.
const BEAT: Duration = Duration::from_secs(15);
/// A reader that takes longer than this for one frame is told to connect again.
const LAG: Duration = Duration::from_secs(30);
/// When it is worth connecting again after a stream was ended.
const RETRY_MS: u64 = 2_000;

/// What a stream is made of besides its request.
pub struct StreamSetup {
    /// The runtime whose sessions are watched.
    pub handle: Handle,
    /// The time that frames tell.
    pub clock: Arc<dyn Clock>,
    /// Who reads it.
    pub who: Principal,
    /// The name of the stream.
    pub name: String,
    /// The name of the process's start.
    pub boot: String,
    /// What it may hold.
    pub limits: StreamLimits,
    /// Sessions to add and to remove.
    pub changes: mpsc::Receiver<StreamPatch>,
    /// Fires when the process stops.
    pub stopping: CancellationToken,
}

/// An open stream.
pub struct EventStream {
    setup: StreamSetup,
    types: Vec<String>,
    deltas: bool,
    /// Sessions to subscribe to.
    opening: VecDeque<(SessionId, SessionStart)>,
    sources: FuturesUnordered<NextEvent>,
    /// The watched roots, and which subscription of each counts: a session that is removed and added again has another
    /// one. A source that does not count any more ends.
    roots: HashMap<SessionId, u64>,
    /// Numbers subscriptions.
    subscriptions: u64,
    sessions: HashMap<SessionId, SessionProgress>,
    topics: TopicWatches,
    /// Fires after another process committed something.
    elsewhere: watch::Receiver<u64>,
    ready: VecDeque<StreamFrame>,
    beat_at: Instant,
    /// When the last frame was handed to the reader.
    handed_at: Option<Instant>,
    is_over: bool,
}

impl EventStream {
    /// Opens a stream. Its first frame is `hello`.
    pub fn new(setup: StreamSetup, request: StreamRequest) -> Self {
        let hello = StreamFrame::Hello(StreamHello {
            v: STREAM_VERSION,
            server: env!("CARGO_PKG_VERSION").to_owned(),
            boot: setup.boot.clone(),
            stream: setup.name.clone(),
            now: setup.clock.now(),
            beat: BEAT.as_secs(),
            limits: setup.limits,
        });
        let topics = TopicWatches::open(&setup.handle, &setup.who, &request);
        let elsewhere = setup.handle.queries(&setup.who).changes();
        Self {
            setup,
            types: request.types,
            deltas: request.deltas,
            opening: request.sessions.into_iter().collect(),
            sources: FuturesUnordered::new(),
            roots: HashMap::new(),
            subscriptions: 0,
            sessions: HashMap::new(),
            topics,
            elsewhere,
            ready: VecDeque::from([hello]),
            beat_at: Instant::now() + BEAT,
            handed_at: None,
            is_over: false,
        }
    }

    /// The next frame; none after the last one.
    pub async fn next(&mut self) -> Option<StreamFrame> {
        let is_slow = self.handed_at.is_some_and(|at| at.elapsed() > LAG);
        if is_slow && !self.is_over {
            self.ready.clear();
            self.end(ByeReason::Lagging);
        }
        let frame = self.make_frame().await;
        self.handed_at = Some(Instant::now());
        frame
    }

    async fn make_frame(&mut self) -> Option<StreamFrame> {
        loop {
            if let Some(frame) = self.ready.pop_front() {
                return Some(frame);
            }
            if self.is_over {
                return None;
            }
            if Instant::now() >= self.beat_at {
                self.beat().await;
            } else if let Some((session, start)) = self.opening.pop_front() {
                self.open(session, &start).await;
            } else {
                self.wait().await;
            }
        }
    }

    /// Waits for whatever comes first.
    async fn wait(&mut self) {
        tokio::select! {
            biased;
            () = self.setup.stopping.cancelled() => self.end(ByeReason::Draining),
            Some(patch) = self.setup.changes.recv() => self.change(patch),
            Some((source, event)) = self.sources.next() => self.take(source, event).await,
            frame = self.topics.next() => match frame {
                Ok(frame) => self.ready.push_back(StreamFrame::Topic(frame)),
                Err(reason) => self.end(reason),
            },
            Ok(()) = self.elsewhere.changed() => self.look_for_metadata().await,
            () = sleep_until(self.beat_at) => {}
        }
    }

    fn change(&mut self, patch: StreamPatch) {
        for (topic, after) in &patch.topics {
            self.topics.change(*topic, after.as_deref());
        }
        for session in patch.remove {
            self.remove(&session, "removed");
        }
        let free = self.setup.limits.sessions.saturating_sub(self.roots.len());
        for (number, (session, start)) in patch.add.into_iter().enumerate() {
            if number < free && !self.roots.contains_key(&session) {
                self.opening.push_back((session, start));
            } else {
                self.say_removed(session, "limit");
            }
        }
    }

    /// Subscribes to a session.
    async fn open(&mut self, id: SessionId, start: &SessionStart) {
        match self.subscribe(&id, start).await {
            Ok(true) => {}
            Ok(false) => self.say_removed(id, "not_found"),
            Err(_) => self.end(ByeReason::Failed),
        }
    }

    async fn subscribe(&mut self, id: &SessionId, start: &SessionStart) -> Result<bool, Error> {
        let handle = self.setup.handle.clone();
        let Some(session) = visible(&handle, &self.setup.who, id).await? else {
            return Ok(false);
        };
        let cursor = start.cursor();
        self.subscriptions += 1;
        let mut source = SessionSource::open(&handle, &self.setup.who, &session, &cursor).await?;
        source.number = self.subscriptions;
        self.roots.insert(id.clone(), source.number);
        let after = cursor.after.unwrap_or(session.head);
        let progress = SessionProgress::new(id.clone(), after, session.head);
        self.sessions.insert(id.clone(), progress);
        self.say_snapshot_if_due(id).await?;
        for (below, after) in source.below() {
            self.announce(id, &below, after).await?;
        }
        self.sources.push(source.wait());
        Ok(true)
    }

    /// A session below a root joins.
    async fn announce(
        &mut self,
        root: &SessionId,
        id: &SessionId,
        after: u64,
    ) -> Result<(), Error> {
        let handle = self.setup.handle.clone();
        if let Some(meta) = visible(&handle, &self.setup.who, id).await? {
            let progress = SessionProgress::new(root.clone(), after, meta.head);
            self.sessions.insert(id.clone(), progress);
            self.ready
                .push_back(StreamFrame::Added(Box::new(AddedSession {
                    session: id.clone(),
                    root: root.clone(),
                    after,
                    meta,
                })));
            self.say_snapshot_if_due(id).await?;
        }
        Ok(())
    }

    /// Takes an event of a source, and waits for its next one.
    async fn take(&mut self, source: SessionSource, event: Result<Arc<Event>, Error>) {
        // A reference to the source cannot be held while waiting.
        let root = source.root.clone();
        if self.roots.get(&root) != Some(&source.number) {
            return;
        }
        let taken = match event {
            Ok(event) => self.take_event(&root, event).await,
            Err(error) => Err(error),
        };
        match taken {
            Ok(()) => self.sources.push(source.wait()),
            Err(Error::Store(rooftree_store::Error::NoSession(_))) => {
                self.remove(&root, "not_found");
            }
            Err(_) => self.end(ByeReason::Failed),
        }
    }

    async fn take_event(&mut self, root: &SessionId, event: Arc<Event>) -> Result<(), Error> {
        let id = event.session.clone();
        if !self.sessions.contains_key(&id) {
            let after = event.id.map_or(0, |id| id.saturating_sub(1));
            self.announce(root, &id, after).await?;
        }
        let Some(progress) = self.sessions.get_mut(&id) else {
            return Ok(());
        };
        match progress.take(&event) {
            DeltaPlace::NotDelta => {}
            DeltaPlace::Fits if self.deltas => {}
            DeltaPlace::Gap if self.deltas => return self.say_snapshot(&id).await,
            _ => return Ok(()),
        }
        let is_update = matches!(event.body, EventBody::SessionUpdated { .. });
        if matches_type(&self.types, event.body.name()) {
            self.ready.push_back(StreamFrame::Event(event));
        }
        if is_update {
            self.say_changed_metadata(&id).await?;
        }
        self.say_snapshot_if_due(&id).await
    }

    /// Another process may have changed metadata, which no event of this one tells.
    async fn look_for_metadata(&mut self) {
        let ids: Vec<SessionId> = self.sessions.keys().cloned().collect();
        for id in ids {
            if self.say_changed_metadata(&id).await.is_err() {
                return self.end(ByeReason::Failed);
            }
        }
    }

    async fn say_changed_metadata(&mut self, id: &SessionId) -> Result<(), Error> {
        let found = self
            .setup
            .handle
            .queries(&self.setup.who)
            .session(id)
            .await?;
        if let (Some(meta), Some(progress)) = (found, self.sessions.get_mut(id))
            && progress.takes_meta(&meta)
        {
            self.ready.push_back(StreamFrame::Meta(Box::new(meta)));
        }
        Ok(())
    }

    /// Sends a snapshot once the journal was sent up to where it was when the session joined.
    async fn say_snapshot_if_due(&mut self, id: &SessionId) -> Result<(), Error> {
        match self.sessions.get(id) {
            Some(progress) if progress.is_snapshot_due() => self.say_snapshot(id).await,
            _ => Ok(()),
        }
    }

    async fn say_snapshot(&mut self, id: &SessionId) -> Result<(), Error> {
        let Some(progress) = self.sessions.get_mut(id) else {
            return Ok(());
        };
        let handle = &self.setup.handle;
        if let Some(snapshot) = snapshot(handle, &self.setup.who, id, progress.position()).await? {
            progress.has_told(&snapshot);
            self.ready
                .push_back(StreamFrame::Snapshot(Box::new(snapshot)));
        }
        Ok(())
    }

    fn remove(&mut self, root: &SessionId, reason: &str) {
        self.opening.retain(|(session, _)| session != root);
        self.roots.remove(root);
        self.sessions.retain(|_, progress| progress.root != *root);
        self.say_removed(root.clone(), reason);
    }

    fn say_removed(&mut self, session: SessionId, reason: &str) {
        self.ready.push_back(StreamFrame::Removed(RemovedSession {
            session,
            reason: reason.to_owned(),
        }));
    }

    /// Says that the stream lives, if its token is still good.
    async fn beat(&mut self) {
        self.beat_at = Instant::now() + BEAT;
        match self.setup.handle.is_still_authorised(&self.setup.who).await {
            Ok(true) => {}
            Ok(false) => return self.end(ByeReason::Token),
            Err(_) => return self.end(ByeReason::Failed),
        }
        let heads = self.sessions.iter();
        let heads: BTreeMap<SessionId, u64> = heads
            .map(|(session, progress)| (session.clone(), progress.position()))
            .collect();
        let now = self.setup.clock.now();
        self.ready
            .push_back(StreamFrame::Beat(StreamBeat { now, heads }));
    }

    fn end(&mut self, reason: ByeReason) {
        self.is_over = true;
        self.ready.push_back(StreamFrame::Bye(StreamBye {
            reason,
            retry_ms: RETRY_MS,
        }));
    }
}

//! Event bus: publishes events to subscribers; the journal has those a subscriber missed.
//!
//! Invariant: the bus never slows an agent. A subscriber that falls behind loses its place on the bus, re-reads the
//! journal from the last number it saw, and misses only deltas.
//!
//! Invariant: no delta is delivered after the message it is part of. Deltas carry the number of the event they follow;
//! the journal is read up to where the bus continues, and a subscriber that has read further drops them.
//!
//! Invariant: a topic lives as long as its subscriptions. The last one that is dropped removes it, so that a server
//! that answers many sessions holds memory only for those that are watched now.

mod drafts;
mod tree;

use std::{
    collections::{HashMap, VecDeque},
    pin::Pin,
    sync::{Arc, Mutex},
    time::Duration,
};

use rooftree_protocol::{Event, EventBody, Principal, SessionId};
use rooftree_store::Store;
use tokio::{
    sync::{broadcast, watch},
    time::{Instant, Sleep},
};

pub(crate) use self::drafts::{OpenDraft, ReplyDrafts};
pub use self::{drafts::ReplyDraft, tree::TreeSubscription};
use crate::{Error, visibility};

/// Events a subscriber may lag behind before it must re-read the journal. The channel allocates all slots at once
/// (40 bytes each); a larger backlog saves only deltas, for subscribers that do not read between two of the model's
/// network reads.
const BACKLOG: usize = 256;
/// Beginnings of delegated runs a tree subscription may lag behind before it looks for them in the store.
const BIRTHS_BACKLOG: usize = 1024;
/// Events read from the journal at a time.
const PAGE: usize = 256;
/// Poll interval if no change notification arrives.
const PATIENCE: Duration = Duration::from_secs(1);

/// Filter of a subscription.
#[derive(Clone, Debug)]
pub struct EventFilter {
    /// Whose events.
    pub session: SessionId,
    /// Only those with a higher number.
    pub after: u64,
}

/// An event, and the last number of the journal when it was said.
type PublishedEvent = (u64, Arc<Event>);

/// The sessions that are watched now.
type Topics = Mutex<HashMap<SessionId, Topic>>;

/// The channel of one session, and how many subscriptions hold it. Counted apart from the channel's own receivers,
/// which end after the lock is released.
struct Topic {
    sender: broadcast::Sender<PublishedEvent>,
    subscriptions: usize,
}

/// The event bus. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Bus {
    topics: Arc<Topics>,
    /// Every beginning of a delegated run, for those who watch whole trees.
    births: broadcast::Sender<Arc<Event>>,
    /// Replies that are being written.
    pub(crate) drafts: ReplyDrafts,
    /// Counts what may change the board, for those who watch it.
    touched: watch::Sender<u64>,
}

impl Default for Bus {
    fn default() -> Self {
        Self {
            topics: Arc::default(),
            births: broadcast::channel(BIRTHS_BACKLOG).0,
            drafts: ReplyDrafts::default(),
            touched: watch::channel(0).0,
        }
    }
}

impl Bus {
    /// Says that something changed which the board may show.
    pub(crate) fn touch(&self) {
        if self.touched.receiver_count() > 0 {
            self.touched
                .send_modify(|count| *count = count.wrapping_add(1));
        }
    }

    /// Fires after something changed which the board may show.
    pub(crate) fn touched(&self) -> watch::Receiver<u64> {
        self.touched.subscribe()
    }

    /// Tells all watchers of the event's session.
    pub(crate) fn publish(&self, head: u64, event: Arc<Event>) {
        if event.body.is_durable() || matches!(event.body, EventBody::InboxQueued { .. }) {
            self.touch();
        }
        if let EventBody::RunStarted {
            parent: Some(_), ..
        } = &event.body
        {
            // A send error means that there is no tree subscription.
            let _ = self.births.send(event.clone());
        }
        let Ok(topics) = self.topics.lock() else {
            return;
        };
        if let Some(topic) = topics.get(&event.session) {
            // A send error means that its last subscription is being dropped.
            let _ = topic.sender.send((head, event));
        }
    }

    /// Number of sessions that are watched.
    #[cfg(test)]
    fn topic_count(&self) -> usize {
        self.topics.lock().map_or(0, |topics| topics.len())
    }

    pub(crate) fn subscribe(&self, store: Arc<dyn Store>, filter: EventFilter) -> Subscription {
        let live = match self.topics.lock() {
            Ok(mut topics) => {
                let topic = topics
                    .entry(filter.session.clone())
                    .or_insert_with(|| Topic {
                        sender: broadcast::channel(BACKLOG).0,
                        subscriptions: 0,
                    });
                topic.subscriptions += 1;
                topic.sender.subscribe()
            }
            Err(_) => broadcast::channel(1).1,
        };
        let changes = store.changes();
        let idle_timer = IdleTimer::new();
        let (said, read) = (VecDeque::new(), VecDeque::new());
        Subscription {
            store,
            topics: self.topics.clone(),
            filter,
            live,
            said,
            changes,
            idle_timer,
            read,
            behind: true,
            unchecked: None,
        }
    }

    pub(crate) fn subscribe_tree(
        &self,
        store: Arc<dyn Store>,
        filter: EventFilter,
    ) -> TreeSubscription {
        TreeSubscription::new(self.clone(), store, filter)
    }
}

/// Ends when nothing was heard for a while. Beginning anew costs nothing: the timer stays where
/// it is and is moved only once it fires. A timer for each event would cost more than the event.
struct IdleTimer {
    timer: Pin<Box<Sleep>>,
    was_heard: bool,
}

impl IdleTimer {
    fn new() -> Self {
        Self {
            timer: Box::pin(tokio::time::sleep(PATIENCE)),
            was_heard: false,
        }
    }

    fn begin_anew(&mut self) {
        self.was_heard = true;
    }

    async fn end(&mut self) {
        loop {
            self.timer.as_mut().await;
            self.timer.as_mut().reset(Instant::now() + PATIENCE);
            if !std::mem::take(&mut self.was_heard) {
                return;
            }
        }
    }
}

/// A place in a session's events that moves forward.
pub struct Subscription {
    store: Arc<dyn Store>,
    topics: Arc<Topics>,
    filter: EventFilter,
    live: broadcast::Receiver<PublishedEvent>,
    /// What was said while the journal was read.
    said: VecDeque<PublishedEvent>,
    changes: watch::Receiver<u64>,
    idle_timer: IdleTimer,
    read: VecDeque<Event>,
    /// Whether the journal may hold more than the bus will tell.
    behind: bool,
    /// The one who subscribed, until it is known that he may see the session.
    unchecked: Option<Box<Principal>>,
}

impl Subscription {
    /// The same for a principal: nothing is told before it is known that he may see the session.
    pub(crate) fn visible_to(mut self, who: &Principal) -> Self {
        self.unchecked = Some(Box::new(who.clone()));
        self
    }

    /// Dropping the wait leaves it unchecked.
    async fn check(&mut self) -> Result<(), Error> {
        if let Some(who) = &self.unchecked {
            let session = &self.filter.session;
            if visibility::find(&*self.store, who, session)
                .await?
                .is_none()
            {
                return Err(rooftree_store::Error::NoSession(session.clone()).into());
            }
            self.unchecked = None;
        }
        Ok(())
    }

    /// The next event, durable ones in order and without a gap.
    pub async fn next(&mut self) -> Result<Arc<Event>, Error> {
        self.check().await?;
        loop {
            if let Some(event) = self.read.pop_front() {
                return Ok(Arc::new(event));
            }
            if self.behind {
                self.read_journal().await?;
                continue;
            }
            if let Some(event) = self.hear().await {
                return Ok(event);
            }
        }
    }

    /// The next event that is in the journal already, without waiting for more.
    pub async fn next_stored(&mut self) -> Result<Option<Arc<Event>>, Error> {
        self.check().await?;
        if self.read.is_empty() {
            self.read_journal().await?;
        }
        Ok(self.read.pop_front().map(Arc::new))
    }

    async fn read_journal(&mut self) -> Result<(), Error> {
        let mut page = self
            .store
            .events(&self.filter.session, self.filter.after, PAGE)
            .await?;
        if !page.is_empty() {
            // A watcher never sees what could still be lost.
            self.store.settled().await?;
        }
        self.behind = page.len() == PAGE;
        // From here on the bus tells everything, deltas too: the journal is read up to there and no further.
        self.listen_in();
        // What is not part of the journal's order says nothing about it: its place is after everything.
        let place = |(head, event): &PublishedEvent| event.id.or_else(|| head.checked_add(1));
        if let Some(told_from) = self.said.iter().find_map(place) {
            let before = page.partition_point(|event| event.id.is_none_or(|id| id < told_from));
            self.behind &= before == page.len();
            page.truncate(before);
        }
        self.filter.after = page
            .last()
            .and_then(|event| event.id)
            .unwrap_or(self.filter.after);
        self.read.extend(page);
        Ok(())
    }

    /// Takes from the bus what waits there, as far as it has no gap.
    fn listen_in(&mut self) {
        loop {
            match self.live.try_recv() {
                Ok(said) => self.said.push_back(said),
                Err(broadcast::error::TryRecvError::Lagged(_)) => self.said.clear(),
                Err(_) => return,
            }
        }
    }

    /// Waits for the bus, for another process, or for patience to end.
    async fn hear(&mut self) -> Option<Arc<Event>> {
        // What was said comes before what another process may have kept, else a delta that waits
        // on the bus would be told after the message it is part of.
        if let Some(said) = self.said.pop_front() {
            return self.told(said);
        }
        let heard = tokio::select! {
            biased;
            heard = self.live.recv() => heard,
            _ = self.changes.changed() => return self.fall_behind(),
            () = self.idle_timer.end() => return self.fall_behind(),
        };
        self.idle_timer.begin_anew();
        match heard {
            Ok(said) => self.told(said),
            Err(broadcast::error::RecvError::Lagged(_)) => self.fall_behind(),
            Err(broadcast::error::RecvError::Closed) => {
                tokio::time::sleep(PATIENCE).await;
                self.fall_behind()
            }
        }
    }

    /// The event if it follows those delivered so far; none if it was delivered already.
    fn told(&mut self, (head, event): PublishedEvent) -> Option<Arc<Event>> {
        match event.id {
            None if head < self.filter.after => None,
            None => Some(event),
            Some(id) if id == self.filter.after + 1 => {
                self.filter.after = id;
                Some(event)
            }
            Some(id) if id <= self.filter.after => None,
            Some(_) => self.fall_behind(),
        }
    }

    fn fall_behind(&mut self) -> Option<Arc<Event>> {
        self.behind = true;
        None
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        let Ok(mut topics) = self.topics.lock() else {
            return;
        };
        if let Some(topic) = topics.get_mut(&self.filter.session) {
            topic.subscriptions -= 1;
            if topic.subscriptions == 0 {
                topics.remove(&self.filter.session);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use rooftree_store::SqliteStore;

    use super::*;

    #[tokio::test]
    async fn p_4e_a_topic_is_closed_when_its_last_subscription_goes() {
        let place = tempfile::tempdir().unwrap();
        let store: Arc<dyn Store> =
            Arc::new(SqliteStore::open(place.path().join("rooftree.db")).unwrap());
        let bus = Bus::default();
        let watched = |session: &SessionId| EventFilter {
            session: session.clone(),
            after: 0,
        };
        for number in 0..50 {
            let session = SessionId::derived_from(&number.to_string());
            let first = bus.subscribe(store.clone(), watched(&session));
            let second = bus.subscribe(store.clone(), watched(&session));
            let tree = bus.subscribe_tree(store.clone(), watched(&session));
            drop(first);
            drop(tree);
            assert_eq!(bus.topic_count(), 1, "one is still watching");
            drop(second);
            assert_eq!(bus.topic_count(), 0, "after session {number}");
        }
    }
}

//! Subscribes to a session and all sessions below it, as one stream of events.
//!
//! Each session keeps its own order, without a gap. A session joins when a delegated run begins in it. In this
//! process the bus says so; what another process began is found in the store, by the id that follows from the
//! delegating call.
//!
//! A delegated run comes before the event that tells its result (`read_ahead`). Else events of different sessions come
//! as they come.

mod read_ahead;

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    sync::Arc,
};

use futures::{FutureExt, StreamExt, future::BoxFuture, stream::FuturesUnordered};
use rooftree_protocol::{
    Event, EventBody, ParentCall, Principal, RunId, SessionId, Timestamp, ToolKind, event::TaskNote,
};
use rooftree_store::{RunFilter, SessionFilter, Store, TaskStatus};
use tokio::sync::{broadcast, watch};

use super::{Bus, EventFilter, IdleTimer, Subscription};
use crate::{Error, visibility};

/// A subscription and what it will say next.
type BranchFuture = BoxFuture<'static, (Subscription, Result<Arc<Event>, Error>)>;

/// A place in the events of a session and of all those below it.
pub struct TreeSubscription {
    bus: Bus,
    store: Arc<dyn Store>,
    root: EventFilter,
    branches: FuturesUnordered<BranchFuture>,
    /// The watched sessions, and the last durable event of each that was delivered.
    watched: HashMap<SessionId, u64>,
    /// Events to deliver before anything else; the last one comes first.
    held: Vec<Arc<Event>>,
    /// Sessions whose journal was read ahead of their branch, and up to which event.
    ahead: HashMap<SessionId, u64>,
    /// Runs whose end was delivered, or whose journal was read for it.
    ended: HashSet<RunId>,
    births: broadcast::Receiver<Arc<Event>>,
    changes: watch::Receiver<u64>,
    idle_timer: IdleTimer,
    /// Delegated runs that must be somewhere, and whose session is not known yet.
    wanted: BTreeSet<RunId>,
    then: TreeStep,
    /// Whether an event of the root session was delivered. Sessions below it are not delivered before.
    has_begun: bool,
    /// The one who subscribed, until it is known that he may see the root session, and so those below it.
    unchecked: Option<Box<Principal>>,
}

/// Work to do before waiting for events.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TreeStep {
    /// Find the runs that were at work before the subscription began.
    Begin,
    /// Look for the wanted ones in the store.
    Look,
    Wait,
}

/// Reasons why a wait ends.
enum TreeWakeup {
    Birth(Arc<Event>),
    Said(Box<Subscription>, Result<Arc<Event>, Error>),
    Hint,
}

impl TreeSubscription {
    pub(super) fn new(bus: Bus, store: Arc<dyn Store>, root: EventFilter) -> Self {
        let (births, changes) = (bus.births.subscribe(), store.changes());
        let mut tree = Self {
            bus,
            store,
            root: root.clone(),
            branches: FuturesUnordered::new(),
            watched: HashMap::new(),
            held: Vec::new(),
            ahead: HashMap::new(),
            ended: HashSet::new(),
            births,
            changes,
            idle_timer: IdleTimer::new(),
            wanted: BTreeSet::new(),
            then: TreeStep::Begin,
            has_begun: root.after > 0,
            unchecked: None,
        };
        tree.watch(root);
        tree
    }

    /// The same for a principal: nothing is told before it is known that he may see the root session.
    pub(crate) fn visible_to(mut self, who: &Principal) -> Self {
        self.unchecked = Some(Box::new(who.clone()));
        self
    }

    /// Dropping the wait leaves it unchecked.
    async fn check(&mut self) -> Result<(), Error> {
        if let Some(who) = &self.unchecked {
            let root = &self.root.session;
            if visibility::find(&*self.store, who, root).await?.is_none() {
                return Err(rooftree_store::Error::NoSession(root.clone()).into());
            }
            self.unchecked = None;
        }
        Ok(())
    }

    /// Continues with sessions below the root after the number that is given for each. Those that are not below it are
    /// left out; those below it that are not given are delivered from their beginning, if they were opened since.
    pub async fn continue_with(
        &mut self,
        cursors: HashMap<SessionId, u64>,
        since: Timestamp,
    ) -> Result<(), Error> {
        self.check().await?;
        let mut above = vec![self.root.session.clone()];
        while let Some(parent) = above.pop() {
            let filter = SessionFilter {
                parent: Some(parent),
                ..SessionFilter::default()
            };
            for child in self.store.sessions(filter).await? {
                let known = cursors.get(&child.id).copied();
                let after = known.or((child.created_at >= since).then_some(0));
                if let Some(after) = after {
                    let session = child.id.clone();
                    self.watch(EventFilter { session, after });
                }
                above.push(child.id);
            }
        }
        self.then = TreeStep::Wait;
        Ok(())
    }

    /// Finds the sessions that were at work below the root before the subscription began. The first `next` does it too.
    pub async fn begin(&mut self) -> Result<(), Error> {
        self.check().await?;
        if self.then == TreeStep::Begin {
            self.find_those_at_work().await?;
            self.then = TreeStep::Wait;
        }
        Ok(())
    }

    /// The sessions that are watched, and the last event of each that was delivered.
    pub fn watched(&self) -> impl Iterator<Item = (&SessionId, u64)> {
        self.watched.iter().map(|(session, last)| (session, *last))
    }

    /// The next event of any session of the tree. Dropping the wait loses nothing.
    pub async fn next(&mut self) -> Result<Arc<Event>, Error> {
        self.check().await?;
        loop {
            if let Some(event) = self.next_held().await? {
                return Ok(event);
            }
            match self.then {
                TreeStep::Begin => self.find_those_at_work().await?,
                TreeStep::Look => self.look().await?,
                TreeStep::Wait => {}
            }
            self.then = TreeStep::Wait;
            match self.hear().await {
                TreeWakeup::Birth(started) => self.join(&started),
                TreeWakeup::Hint => self.then = TreeStep::Look,
                TreeWakeup::Said(subscription, event) => {
                    let event = event?;
                    self.branches.push(next_of(*subscription));
                    if !self.was_read_ahead(&event) {
                        self.held.push(event);
                    }
                }
            }
        }
    }

    async fn hear(&mut self) -> TreeWakeup {
        let is_looking = !self.wanted.is_empty();
        tokio::select! {
            biased;
            born = self.births.recv(), if self.has_begun => born.map_or(TreeWakeup::Hint, TreeWakeup::Birth),
            Some((subscription, event)) = self.branches.next() => TreeWakeup::Said(Box::new(subscription), event),
            _ = self.changes.changed(), if is_looking => TreeWakeup::Hint,
            () = self.idle_timer.end(), if is_looking => TreeWakeup::Hint,
        }
    }

    fn watch(&mut self, filter: EventFilter) {
        if !self.watched.contains_key(&filter.session) {
            self.watched.insert(filter.session.clone(), filter.after);
            let subscription = self.bus.subscribe(self.store.clone(), filter);
            self.branches.push(next_of(subscription));
        }
    }

    /// A delegated run began: if the one who asked is watched, so is the one who was asked.
    fn join(&mut self, started: &Event) {
        let EventBody::RunStarted {
            parent: Some(parent),
            ..
        } = &started.body
        else {
            return;
        };
        if let (true, Some(run)) = (self.watched.contains_key(&parent.session), &started.run) {
            self.wanted.remove(run);
            let after = started
                .id
                .unwrap_or_default()
                .saturating_sub(before_it(started, parent));
            self.watch(EventFilter {
                session: started.session.clone(),
                after,
            });
        }
    }

    /// Remembers what was delivered, and which runs it lets one expect.
    fn note(&mut self, event: &Event) {
        if let (Some(id), Some(last)) = (event.id, self.watched.get_mut(&event.session)) {
            *last = id;
        }
        match &event.body {
            EventBody::RunCompleted(_) => self.ended.extend(event.run.clone()),
            EventBody::ToolStarted {
                call,
                kind: ToolKind::Delegate,
                ..
            } => {
                self.wanted.insert(RunId::derived_from(call.as_str()));
            }
            EventBody::ToolCompleted(record) => {
                self.wanted
                    .remove(&RunId::derived_from(record.call.as_str()));
                self.note_task(record.task.as_ref());
            }
            EventBody::RunVerified(verdict) => {
                verdict
                    .reports
                    .iter()
                    .for_each(|report| self.note_task(report.task.as_ref()));
            }
            EventBody::RunStarted { .. } => {
                if let Some(run) = &event.run {
                    self.wanted.remove(run);
                }
            }
            _ => {}
        }
    }

    fn note_task(&mut self, note: Option<&TaskNote>) {
        if let Some(note) = note
            && !note.cached
            && !self.watched.contains_key(&note.session)
        {
            self.wanted.insert(note.task.clone());
            self.then = TreeStep::Look;
        }
    }

    async fn look(&mut self) -> Result<(), Error> {
        for run in self.wanted.clone() {
            self.find_run(run).await?;
        }
        Ok(())
    }

    /// Looks for a run in the store, and watches its session if it belongs to the tree.
    async fn find_run(&mut self, run: RunId) -> Result<(), Error> {
        let filter = RunFilter {
            run: Some(run),
            limit: 1,
            ..RunFilter::default()
        };
        if let Some(row) = self.store.runs(filter).await?.pop() {
            self.join(&row.started);
        }
        Ok(())
    }

    /// A subscription that begins in the middle does not see the calls that delegated before; the list of tasks tells
    /// which runs are still at work. Those are watched from where they are.
    async fn find_those_at_work(&mut self) -> Result<(), Error> {
        let mut above = if self.root.after > 0 {
            vec![self.root.session.clone()]
        } else {
            Vec::new()
        };
        while let Some(session) = above.pop() {
            let tasks = self
                .store
                .tasks(rooftree_store::TaskFilter::of(&session))
                .await?;
            for task in tasks
                .into_iter()
                .filter(|task| task.status == TaskStatus::Running)
            {
                let Some(child) = task.child.filter(|child| !self.watched.contains_key(child))
                else {
                    continue;
                };
                if let Some(session) = self.store.session(&child).await? {
                    self.watch(EventFilter {
                        session: child.clone(),
                        after: session.head,
                    });
                    above.push(child);
                }
            }
        }
        Ok(())
    }
}

fn next_of(mut subscription: Subscription) -> BranchFuture {
    async move {
        let event = subscription.next().await;
        (subscription, event)
    }
    .boxed()
}

/// How many events to go back from the beginning of a run. A session opened for this very call
/// has its opening just before; a fork's journal before that is the one who asked, told again.
fn before_it(started: &Event, parent: &ParentCall) -> u64 {
    if started.session == SessionId::derived_from(parent.call.as_str()) {
        2
    } else {
        1
    }
}

//! A session's journal while its agent is awake: appends in order, publishes events once they are durable.
//!
//! Appending does not wait for fsync. A background task (the scribe) waits, then publishes, so a subscriber never sees
//! what could still be lost; `barrier` waits where a promise is made. The scribe also renews the claim and polls for
//! commands of other processes.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use rooftree_protocol::{Event, EventBody, Lane, Principal, RunId, Session};
use rooftree_store::{
    AppendBatch, Claim, InboxPost, Inquiry, OutboxPost, Pending, RuleRow, TaskRow,
};
use tokio::{
    sync::{mpsc, oneshot},
    task::JoinHandle,
    time::{Instant, sleep_until},
};

use crate::{
    Error,
    resting_sessions::RestingPlace,
    runtime_context::{LEASE, RuntimeContext},
    signals::{AgentSignal, SignalQueue},
};

/// One commit of an agent.
#[derive(Default)]
pub(crate) struct JournalCommit {
    /// What comes before all else. Not in any run: the one a fork's parent was in is not the fork's.
    pub(crate) opening: Option<EventBody>,
    pub(crate) bodies: Vec<EventBody>,
    /// Who sent the command that led to these events; none if none did.
    pub(crate) who: Option<Box<Principal>>,
    pub(crate) taken: Vec<(Lane, u64)>,
    pub(crate) done: Vec<(Lane, u64)>,
    /// The run these events belong to.
    pub(crate) run: Option<RunId>,
    /// The run that is open afterwards, if that changes.
    pub(crate) opens: Option<Option<RunId>>,
    pub(crate) posts: Vec<InboxPost>,
    pub(crate) tasks: Vec<TaskRow>,
    pub(crate) asks: Vec<Inquiry>,
    pub(crate) rules: Vec<RuleRow>,
    pub(crate) outbox: Vec<OutboxPost>,
    pub(crate) blobs: Vec<Vec<u8>>,
    pub(crate) snippet: Option<String>,
}

pub(crate) struct Journal {
    publisher: EventPublisher,
    claim: Arc<Claim>,
    writer: JoinHandle<()>,
}

enum JournalJob {
    Written(Pending<()>, Vec<Arc<Event>>),
    /// After so many events.
    Said(u64, Arc<Event>),
    Barrier(oneshot::Sender<Result<(), rooftree_store::Error>>),
    End,
}

/// Tells watchers something that is not kept. Cheap to clone, and may outlive the journal.
#[derive(Clone)]
pub(crate) struct EventPublisher {
    context: Arc<RuntimeContext>,
    session: Arc<Session>,
    /// The run that delegated the one being worked on.
    parent_run: Option<RunId>,
    entries: JournalJobQueue,
    /// The number of the last event that was appended; the journal alone changes it.
    head: Arc<AtomicU64>,
}

/// Queue to the scribe task, and how many entries it has not handled.
#[derive(Clone)]
struct JournalJobQueue {
    tx: mpsc::UnboundedSender<JournalJob>,
    open: Arc<AtomicUsize>,
}

impl JournalJobQueue {
    fn send(&self, entry: JournalJob) {
        self.open.fetch_add(1, Ordering::AcqRel);
        // A scribe that is gone has said why to the agent.
        let _ = self.tx.send(entry);
    }

    fn is_empty(&self) -> bool {
        self.open.load(Ordering::Acquire) == 0
    }
}

impl EventPublisher {
    fn event(&self, run: Option<RunId>, body: EventBody) -> Event {
        Event {
            parent_run: self.parent_run.clone(),
            ..self.context.event(&self.session, run, body)
        }
    }

    /// Says it, after all that was appended before.
    pub(crate) fn say(&self, run: Option<RunId>, body: EventBody) {
        let event = Arc::new(self.event(run, body));
        let head = self.head.load(Ordering::Acquire);
        if self.entries.is_empty() {
            // Nothing to wait for: most deltas need no scribe.
            self.context.publish_after(head, event);
        } else {
            self.entries.send(JournalJob::Said(head, event));
        }
    }
}

impl Journal {
    pub(crate) fn open(
        context: Arc<RuntimeContext>,
        session: Session,
        claim: Claim,
        signals: SignalQueue,
    ) -> Self {
        let (tx, inbox) = mpsc::unbounded_channel();
        let entries = JournalJobQueue {
            tx,
            open: Arc::default(),
        };
        let (claim, head) = (Arc::new(claim), Arc::new(AtomicU64::new(session.head)));
        let open = entries.open.clone();
        let writer = JournalWorker {
            context: context.clone(),
            claim: claim.clone(),
            signals,
            open,
        };
        let writer = tokio::spawn(writer.work(inbox));
        let parent_run = session.parent.as_ref().map(|parent| parent.run.clone());
        let publisher = EventPublisher {
            context,
            session: Arc::new(session),
            parent_run,
            entries,
            head,
        };
        Self {
            publisher,
            claim,
            writer,
        }
    }

    /// Queues a commit and returns its events, numbered. They are published once they are kept.
    pub(crate) fn append(&mut self, commit: JournalCommit) -> Vec<Arc<Event>> {
        let EventPublisher {
            context,
            entries,
            head,
            ..
        } = &self.publisher;
        let mut number = head.load(Ordering::Acquire);
        let mut sender = commit.who;
        if let Some(who) = &mut sender {
            context.secrets().clean_principal(who);
        }
        let mut events = Vec::with_capacity(commit.bodies.len());
        let opening = commit.opening.into_iter().map(|body| (None, body));
        let bodies = commit
            .bodies
            .into_iter()
            .map(|body| (commit.run.clone(), body));
        for (run, body) in opening.chain(bodies) {
            number += 1;
            let event = self.publisher.event(run, body);
            events.push(Arc::new(Event {
                id: Some(number),
                who: event.who.or_else(|| sender.clone()),
                ..event
            }));
        }
        head.store(number, Ordering::Release);
        let batch = AppendBatch {
            events: Vec::new(),
            taken: commit.taken,
            done: commit.done,
            run: commit.opens,
            posts: commit.posts,
            tasks: commit.tasks,
            asks: commit.asks,
            rules: commit.rules,
            outbox: commit.outbox,
            blobs: commit.blobs,
            snippet: commit.snippet,
            lease: context.now().after(LEASE),
        };
        let pending = context.store().append_shared(&self.claim, &events, batch);
        entries.send(JournalJob::Written(pending, events.clone()));
        events
    }

    /// From now on the run being worked on is one that this run delegated.
    pub(crate) fn works_for(&mut self, parent_run: Option<RunId>) {
        self.publisher.parent_run = parent_run;
    }

    /// From now on the session works in this directory.
    pub(crate) fn works_in(&mut self, cwd: std::path::PathBuf) {
        Arc::make_mut(&mut self.publisher.session).cwd = cwd;
    }

    /// The last event that was appended, and the claim it was appended under.
    pub(crate) fn place(&self) -> RestingPlace {
        RestingPlace {
            head: self.publisher.head.load(Ordering::Acquire),
            fence: self.claim.fence(),
        }
    }

    /// The session this is the journal of.
    pub(crate) fn session(&self) -> &Arc<Session> {
        &self.publisher.session
    }

    /// A way to tell watchers what is not kept.
    pub(crate) fn publisher(&self) -> &EventPublisher {
        &self.publisher
    }

    /// Waits until everything appended so far is kept and published.
    pub(crate) async fn barrier(&self) -> Result<(), Error> {
        let (told, wait) = oneshot::channel();
        self.publisher.entries.send(JournalJob::Barrier(told));
        wait.await.unwrap_or_else(|_| {
            Err(rooftree_store::Error::Failed(
                "the journal was closed".into(),
            ))
        })?;
        Ok(())
    }

    /// Ends the scribe task and returns the claim, which the caller releases.
    pub(crate) async fn close(self) -> Option<Claim> {
        self.publisher.entries.send(JournalJob::End);
        let _ = self.writer.await;
        Arc::into_inner(self.claim)
    }
}

struct JournalWorker {
    context: Arc<RuntimeContext>,
    claim: Arc<Claim>,
    signals: SignalQueue,
    /// Entries that are not dealt with.
    open: Arc<AtomicUsize>,
}

impl JournalWorker {
    async fn work(self, mut entries: mpsc::UnboundedReceiver<JournalJob>) {
        let mut changes = self.context.store().changes();
        let mut broken = None;
        let mut renew_at = Instant::now() + LEASE / 3;
        // One timer for all: it is moved when it fires, not with every append.
        let mut renewal = std::pin::pin!(sleep_until(renew_at));
        loop {
            tokio::select! {
                biased;
                entry = entries.recv() => {
                    match entry {
                        None | Some(JournalJob::End) => return,
                        Some(JournalJob::Written(..)) if broken.is_some() => {}
                        Some(JournalJob::Written(pending, events)) => {
                            renew_at = Instant::now() + LEASE / 3;
                            broken = self.publish(pending, events).await;
                        }
                        Some(JournalJob::Said(head, event)) => self.context.publish_after(head, event),
                        Some(JournalJob::Barrier(told)) => {
                            let _ = told.send(broken.clone().map_or(Ok(()), Err));
                        }
                    }
                    self.open.fetch_sub(1, Ordering::AcqRel);
                }
                () = &mut renewal => {
                    if Instant::now() >= renew_at {
                        renew_at = Instant::now() + LEASE / 3;
                        broken = broken.or(self.renew().await);
                    }
                    renewal.as_mut().reset(renew_at);
                }
                _ = changes.changed() => self.listen().await,
            }
        }
    }

    async fn publish(
        &self,
        pending: Pending<()>,
        events: Vec<Arc<Event>>,
    ) -> Option<rooftree_store::Error> {
        match pending.await {
            Ok(()) => {
                events
                    .into_iter()
                    .for_each(|event| self.context.publish(event));
                None
            }
            Err(error) => self.give_up(error),
        }
    }

    async fn renew(&self) -> Option<rooftree_store::Error> {
        let until = self.context.now().after(LEASE);
        match self.context.store().renew(&self.claim, until).await {
            Ok(()) => None,
            Err(error) => self.give_up(error),
        }
    }

    fn give_up(&self, error: rooftree_store::Error) -> Option<rooftree_store::Error> {
        let _ = self.signals.send(AgentSignal::Broken(error.clone()));
        Some(error)
    }

    /// Another process wrote something: maybe a command for this agent, maybe mail.
    async fn listen(&self) {
        self.context.caches.saved_rules.forget();
        let commands = self
            .context
            .store()
            .take_commands(&self.claim)
            .await
            .unwrap_or_default();
        for row in commands {
            let _ = self.signals.send(AgentSignal::of(row));
        }
        let _ = self.signals.send(AgentSignal::Mail);
        // Several commits in a row are one piece of news.
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

//! Delivery worker of one connector: holds the worker claim with a lease, and delivers the next message of each chat.

use std::{collections::HashSet, sync::Arc, time::Duration};

use rooftree_protocol::Timestamp;
use rooftree_runtime::ConnectorAccess;
use rooftree_store::{Error, OutboxRow, WorkerClaim, WorkerClaimOutcome};
use tokio::{sync::watch, task::JoinSet};
use tokio_util::sync::CancellationToken;

use super::send::MessageDelivery;
use crate::connectors::RegisteredConnector;

/// How long a claim lives without being renewed, and how often it is renewed.
const LEASE: Duration = Duration::from_secs(15);
const RENEWAL: Duration = Duration::from_secs(5);

/// How often the outbox is looked at without a signal.
const POLL: Duration = Duration::from_secs(5);

/// Chats that are written to at the same time.
const CONCURRENT: usize = 8;

/// Messages that are looked at in one go.
const HEADS: usize = 256;

/// How long messages that were sent are kept, and how often old ones are looked for.
const KEPT: Duration = Duration::from_secs(7 * 86_400);
const PRUNING: Duration = Duration::from_secs(3_600);

/// The worker of one connector.
pub(super) struct ConnectorWorker {
    pub(super) name: String,
    pub(super) registered: RegisteredConnector,
    pub(super) access: ConnectorAccess,
    pub(super) stop: CancellationToken,
}

/// What a worker at work knows.
struct WorkState {
    claim: Arc<WorkerClaim>,
    /// The chats that are written to now.
    busy: HashSet<String>,
    tasks: JoinSet<(String, Result<(), Error>)>,
    posted: watch::Receiver<u64>,
    changes: watch::Receiver<u64>,
    renewed_at: Timestamp,
    pruned_at: Option<Timestamp>,
}

impl ConnectorWorker {
    /// Works until it is stopped. Another process may have the claim; then it waits.
    pub(super) async fn run(self) {
        while !self.stop.is_cancelled() {
            if let Some(claim) = self.claim().await {
                // A claim that was lost or a store that failed: ask again after a while.
                let _ = self.work(claim).await;
            }
            tokio::select! {
                () = self.stop.cancelled() => {}
                () = self.access.clock.sleep(RENEWAL) => {}
            }
        }
    }

    async fn claim(&self) -> Option<WorkerClaim> {
        let (now, job) = (self.access.clock.now(), format!("delivery:{}", self.name));
        let asked = self
            .access
            .store
            .claim_worker(&job, &self.access.owner, now, now.after(LEASE));
        match asked.await {
            Ok(WorkerClaimOutcome::Granted(claim)) => Some(claim),
            Ok(WorkerClaimOutcome::Held(_)) | Err(_) => None,
        }
    }

    async fn work(&self, claim: WorkerClaim) -> Result<(), Error> {
        let mut state = WorkState {
            claim: Arc::new(claim),
            busy: HashSet::new(),
            tasks: JoinSet::new(),
            posted: self.access.posted(),
            changes: self.access.store.changes(),
            renewed_at: self.access.clock.now(),
            pruned_at: None,
        };
        let worked = self.deliver_until_stopped(&mut state).await;
        // What is being sent is sent to its end: its receipt must not be lost.
        while state.tasks.join_next().await.is_some() {}
        if let Some(claim) = Arc::into_inner(state.claim) {
            let _ = self.access.store.release_worker(claim).await;
        }
        worked
    }

    async fn deliver_until_stopped(&self, state: &mut WorkState) -> Result<(), Error> {
        while !self.stop.is_cancelled() {
            self.renew(state).await?;
            self.prune(state).await?;
            state.posted.mark_unchanged();
            state.changes.mark_unchanged();
            let next = self.begin_due(state).await?;
            let wait = next.map_or(POLL, |next| next.since(self.access.clock.now()).min(POLL));
            tokio::select! {
                () = self.stop.cancelled() => {}
                Some(ended) = state.tasks.join_next(), if !state.tasks.is_empty() => self.ended(state, ended)?,
                Ok(()) = state.posted.changed() => {}
                Ok(()) = state.changes.changed() => {}
                () = self.access.clock.sleep(wait.max(Duration::from_millis(1))) => {}
            }
        }
        Ok(())
    }

    fn ended(
        &self,
        state: &mut WorkState,
        ended: Result<(String, Result<(), Error>), tokio::task::JoinError>,
    ) -> Result<(), Error> {
        let (place, delivered) =
            ended.map_err(|error| Error::Failed(format!("deliver a message: {error}")))?;
        state.busy.remove(&place);
        delivered
    }

    async fn renew(&self, state: &mut WorkState) -> Result<(), Error> {
        let now = self.access.clock.now();
        if now.since(state.renewed_at) >= RENEWAL {
            let renewed = self
                .access
                .store
                .renew_worker(&state.claim, now.after(LEASE));
            renewed.await?;
            state.renewed_at = now;
        }
        Ok(())
    }

    async fn prune(&self, state: &mut WorkState) -> Result<(), Error> {
        let now = self.access.clock.now();
        let is_due = state
            .pruned_at
            .is_none_or(|pruned| now.since(pruned) >= PRUNING);
        if is_due {
            let kept = i64::try_from(KEPT.as_millis()).unwrap_or(i64::MAX);
            let before = Timestamp(now.0.saturating_sub(kept));
            self.access.store.prune_outbox(before).await?;
            state.pruned_at = Some(now);
        }
        Ok(())
    }

    /// Begins with the next message of each chat that nothing is written to. Says when another one is due.
    async fn begin_due(&self, state: &mut WorkState) -> Result<Option<Timestamp>, Error> {
        let now = self.access.clock.now();
        let heads = self
            .access
            .store
            .outbox_heads(&self.name, now, HEADS)
            .await?;
        for row in heads.due {
            let place = row.post.target.without_reply().to_string();
            if state.busy.len() >= CONCURRENT || state.busy.contains(&place) {
                continue;
            }
            state.busy.insert(place.clone());
            let delivery = self.delivery(state, row);
            state
                .tasks
                .spawn(async move { (place, delivery.run().await) });
        }
        Ok(heads.next)
    }

    fn delivery(&self, state: &WorkState, row: OutboxRow) -> MessageDelivery {
        MessageDelivery {
            store: self.access.store.clone(),
            clock: self.access.clock.clone(),
            access: self.access.clone(),
            connector: self.registered.connector.clone(),
            unknown: self.registered.unknown,
            claim: state.claim.clone(),
            row,
        }
    }
}

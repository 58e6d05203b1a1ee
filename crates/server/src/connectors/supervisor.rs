//! Supervisor of connectors: starts, restarts and stops pollers as rows change, one poller per account over all processes.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use rooftree_connectors::{FailureClass, Health, SharedConnector};
use rooftree_protocol::Principal;
use rooftree_runtime::{ConnectorAccess, Handle};
use rooftree_store::{ConnectorHealth, ConnectorRow, WorkerClaim, WorkerClaimOutcome};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::{
    ack_order::AckOrder,
    chat_inbox::{ChatInbox, connector_principal},
    chat_settings::ChatSettings,
    debounce::Debouncer,
    poller::PollerEnd,
    registry::{RegisteredConnector, UnknownDeliveryPolicy},
    service_options::ConnectorServiceOptions,
};

/// How long a claim lives if this process dies.
const LEASE: Duration = Duration::from_secs(30);
/// How often rows are looked at without being told.
const LOOK: Duration = Duration::from_secs(10);
/// How long an account that another poller has, or that fails, is left alone.
const PAUSE: Duration = Duration::from_secs(30);

/// Supervises the connectors of a tenant.
pub(super) struct ConnectorSupervisor {
    shared: Arc<SupervisorParts>,
    running: BTreeMap<String, RunningPoller>,
}

struct SupervisorParts {
    handle: Handle,
    access: ConnectorAccess,
    us: Principal,
    options: ConnectorServiceOptions,
}

struct RunningPoller {
    revision: u64,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl ConnectorSupervisor {
    pub(super) fn new(handle: Handle, tenant: &str, options: ConnectorServiceOptions) -> Self {
        let shared = SupervisorParts {
            access: handle.connector_access(),
            us: connector_principal(tenant),
            handle,
            options,
        };
        Self {
            shared: Arc::new(shared),
            running: BTreeMap::new(),
        }
    }

    /// Runs until it is stopped, and all pollers with it.
    pub(super) async fn run(mut self, stop: CancellationToken) {
        let mut changes = self.shared.access.store.changes();
        loop {
            // A store that cannot be read now is read later; what runs goes on.
            if let Ok(rows) = self.shared.handle.connectors(&self.shared.us).await {
                self.follow(rows, &stop).await;
            }
            let shared = &self.shared;
            tokio::select! {
                () = stop.cancelled() => break,
                () = shared.options.control.changed() => {}
                _ = changes.changed() => {}
                () = shared.access.clock.sleep(LOOK) => {}
            }
        }
        for (_, poller) in std::mem::take(&mut self.running) {
            poller.end().await;
        }
    }

    async fn follow(&mut self, rows: Vec<ConnectorRow>, stop: &CancellationToken) {
        let wanted: BTreeMap<String, ConnectorRow> = rows
            .into_iter()
            .filter(|row| row.fields.enabled)
            .map(|row| (row.name.clone(), row))
            .collect();
        let names: Vec<String> = self.running.keys().cloned().collect();
        for name in names {
            let is_same = |poller: &RunningPoller| {
                let row = wanted.get(&name);
                row.is_some_and(|row| row.revision == poller.revision) && !poller.task.is_finished()
            };
            if self.running.get(&name).is_some_and(is_same) {
                continue;
            }
            if let Some(poller) = self.running.remove(&name) {
                poller.end().await;
            }
        }
        for (name, row) in wanted {
            let shared = self.shared.clone();
            self.running.entry(name).or_insert_with(|| {
                let (revision, stop) = (row.revision, stop.child_token());
                let task = tokio::spawn(shared.keep(row, stop.clone()));
                RunningPoller {
                    revision,
                    stop,
                    task,
                }
            });
        }
    }
}

impl RunningPoller {
    async fn end(self) {
        self.stop.cancel();
        let _ = self.task.await;
    }
}

impl SupervisorParts {
    /// Keeps one connector running. Invariant: nothing is received without the claim on the account.
    async fn keep(self: Arc<Self>, row: ConnectorRow, stop: CancellationToken) {
        while !stop.is_cancelled() {
            let pause = match self.claim(&row.name).await {
                Some(claim) => {
                    let pause = self.poll(&row, &claim, &stop).await;
                    let _ = self.access.store.release_worker(claim).await;
                    pause
                }
                None => Some(PAUSE),
            };
            let Some(pause) = pause else {
                // It is refused for good: only a change of its row helps.
                stop.cancelled().await;
                return;
            };
            let paused = stop.run_until_cancelled(self.access.clock.sleep(pause));
            paused.await;
        }
    }

    async fn claim(&self, name: &str) -> Option<WorkerClaim> {
        let now = self.access.clock.now();
        let job = format!("connector/{}/{name}", self.us.tenant);
        let asked = self
            .access
            .store
            .claim_worker(&job, &self.access.owner, now, now.after(LEASE));
        match asked.await {
            Ok(WorkerClaimOutcome::Granted(claim)) => Some(claim),
            Ok(WorkerClaimOutcome::Held(_)) | Err(_) => None,
        }
    }

    /// Polls while the claim holds; says how long to wait before the next attempt, none if there is no use in one.
    async fn poll(
        &self,
        row: &ConnectorRow,
        claim: &WorkerClaim,
        stop: &CancellationToken,
    ) -> Option<Duration> {
        let connector = match (self.options.factory)(&self.with_cursor(row).await) {
            Ok(connector) => connector,
            Err(reason) => {
                self.note(row, &Health::Stopped { reason }).await;
                return None;
            }
        };
        let registry = &self.options.registry;
        registry.insert(
            row.name.clone(),
            RegisteredConnector {
                connector: connector.clone(),
                unknown: unknown_policy(row),
            },
        );
        let polling = stop.child_token();
        let inbox = self.inbox(row, connector.clone());
        let (end, ()) = tokio::join!(
            async {
                let end = inbox.poll(polling.clone()).await;
                polling.cancel();
                end
            },
            async {
                tokio::select! {
                    () = self.renew(claim) => polling.cancel(),
                    () = self.follow_health(row, &connector) => {}
                    () = polling.cancelled() => {}
                }
            }
        );
        registry.remove(&row.name);
        self.after(row, end).await
    }

    /// The row with the cursor of now: it moves without a change of the row's revision.
    async fn with_cursor(&self, row: &ConnectorRow) -> ConnectorRow {
        let rows = self.handle.connectors(&self.us).await.unwrap_or_default();
        let same = rows.into_iter().find(|known| known.name == row.name);
        let cursor = same.map_or_else(|| row.cursor.clone(), |known| known.cursor);
        ConnectorRow {
            cursor,
            ..row.clone()
        }
    }

    fn inbox(&self, row: &ConnectorRow, connector: SharedConnector) -> ChatInbox {
        let settings = ChatSettings::of(&row.fields.settings);
        ChatInbox {
            handle: self.handle.clone(),
            clock: self.access.clock.clone(),
            connector,
            name: row.name.clone(),
            agent: row.fields.agent.clone(),
            debouncer: Debouncer::new(settings.debounce(&row.fields.platform)),
            settings,
            cwd: self.options.cwd.clone(),
            us: self.us.clone(),
            acks: AckOrder::default(),
            listed: Default::default(),
        }
    }

    /// Renews the claim; ends when another process has it.
    async fn renew(&self, claim: &WorkerClaim) {
        loop {
            self.access.clock.sleep(LEASE / 3).await;
            let until = self.access.clock.now().after(LEASE);
            let renewed = self.access.store.renew_worker(claim, until);
            if let Err(rooftree_store::Error::Fenced) = renewed.await {
                return;
            }
        }
    }

    async fn follow_health(&self, row: &ConnectorRow, connector: &SharedConnector) {
        let mut health = connector.health();
        loop {
            let now = health.borrow_and_update().clone();
            self.note(row, &now).await;
            if health.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    async fn after(&self, row: &ConnectorRow, end: PollerEnd) -> Option<Duration> {
        let PollerEnd::Refused(error) = end else {
            self.note(row, &Health::Off).await;
            return Some(Duration::ZERO);
        };
        let reason = error.message;
        self.note(row, &Health::Stopped { reason }).await;
        match error.class {
            FailureClass::Auth | FailureClass::Permission | FailureClass::InvalidPayload => None,
            _ => Some(error.retry_after.unwrap_or(PAUSE)),
        }
    }

    async fn note(&self, row: &ConnectorRow, health: &Health) {
        let (state, reason) = match health {
            Health::Off => ("off", None),
            Health::Connecting => ("connecting", None),
            Health::Up => ("up", None),
            Health::Degraded { reason } => ("degraded", Some(reason.clone())),
            Health::Stopped { reason } => ("stopped", Some(reason.clone())),
        };
        let before = row.health.as_ref();
        let last_error = reason
            .clone()
            .or_else(|| before.and_then(|before| before.last_error.clone()));
        let health = ConnectorHealth {
            state: state.to_owned(),
            reason,
            last_error,
            at: self.access.clock.now(),
        };
        // How it is is told again when it changes.
        let noted = self
            .handle
            .note_connector_health(&self.us, &row.name, health);
        let _ = noted.await;
    }
}

fn unknown_policy(row: &ConnectorRow) -> UnknownDeliveryPolicy {
    let policy = row.fields.settings.get("unknown_delivery");
    let policy = policy.and_then(|policy| serde_json::from_value(policy.clone()).ok());
    policy.unwrap_or_default()
}

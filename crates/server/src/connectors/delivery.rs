//! Delivers the outbox: one worker per connector over all processes, messages to a chat in order, each part once.
//!
//! A part is noted as `sending` before the platform is called and gets its receipt afterwards. A worker that dies in
//! between leaves it so, and the next one asks the platform, or sends it again with a label.

mod edits;
mod failure;
mod labels;
mod message_parts;
mod progress;
mod send;
mod status_words;
mod worker;

use std::{collections::BTreeMap, sync::Arc};

use futures::FutureExt;
use rooftree_runtime::{ConnectorAccess, Handle, Service, StopService};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use self::worker::ConnectorWorker;
use super::{ConnectorRegistry, RegisteredConnector};

/// The service that delivers messages to the chats of these connectors.
pub fn delivery_service(registry: Arc<ConnectorRegistry>) -> Service {
    Service::new("delivery", move |handle| start(handle, registry))
}

fn start(handle: &Handle, registry: Arc<ConnectorRegistry>) -> StopService {
    let access = handle.connector_access();
    let stop = CancellationToken::new();
    let lines = tokio::spawn(progress::keep_status_lines(
        access.clone(),
        registry.clone(),
        stop.clone(),
    ));
    let workers = DeliveryWorkers {
        access,
        registry,
        stop: stop.clone(),
        running: BTreeMap::new(),
    };
    let workers = tokio::spawn(workers.run());
    Box::new(move || {
        async move {
            stop.cancel();
            let _ = tokio::join!(workers, lines);
        }
        .boxed()
    })
}

/// A worker at work.
struct RunningWorker {
    registered: RegisteredConnector,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

/// The workers of all connectors of this process.
struct DeliveryWorkers {
    access: ConnectorAccess,
    registry: Arc<ConnectorRegistry>,
    stop: CancellationToken,
    running: BTreeMap<String, RunningWorker>,
}

impl DeliveryWorkers {
    async fn run(mut self) {
        let mut changes = self.registry.changes();
        loop {
            changes.mark_unchanged();
            self.follow_registry().await;
            tokio::select! {
                () = self.stop.cancelled() => break,
                _ = changes.changed() => {}
            }
        }
        for (_, worker) in std::mem::take(&mut self.running) {
            worker.stop.cancel();
            let _ = worker.task.await;
        }
    }

    /// Stops workers whose connector is gone or another one, and starts those that are missing.
    async fn follow_registry(&mut self) {
        let running = std::mem::take(&mut self.running);
        for (name, worker) in running {
            let now = self.registry.find(&name);
            if now.is_some_and(|now| worker.registered.is_same(&now)) {
                self.running.insert(name, worker);
            } else {
                worker.stop.cancel();
                let _ = worker.task.await;
            }
        }
        for name in self.registry.names() {
            if !self.running.contains_key(&name)
                && let Some(registered) = self.registry.find(&name)
            {
                let worker = self.start_worker(&name, registered);
                self.running.insert(name, worker);
            }
        }
    }

    fn start_worker(&self, name: &str, registered: RegisteredConnector) -> RunningWorker {
        let stop = self.stop.child_token();
        let worker = ConnectorWorker {
            name: name.to_owned(),
            registered: registered.clone(),
            access: self.access.clone(),
            stop: stop.clone(),
        };
        let task = tokio::spawn(worker.run());
        RunningWorker {
            registered,
            stop,
            task,
        }
    }
}

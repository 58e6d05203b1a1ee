//! The service that runs connectors: started with the runtime, it supervises a poller for each enabled connector.

use std::{path::PathBuf, sync::Arc};

use futures::FutureExt;
use rooftree_connectors::SharedConnector;
use rooftree_protocol::principal::DEFAULT_TENANT;
use rooftree_runtime::Service;
use rooftree_store::ConnectorRow;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::{registry::ConnectorRegistry, supervisor::ConnectorSupervisor};

/// Makes the client of a connector from its row and the credential store; or says why it cannot, without secrets.
pub type ConnectorFactory =
    Arc<dyn Fn(&ConnectorRow) -> Result<SharedConnector, String> + Send + Sync>;

/// Options of the service.
pub struct ConnectorServiceOptions {
    /// Makes clients.
    pub factory: ConnectorFactory,
    /// Where tools of chats' sessions work, unless their connector says so.
    pub cwd: PathBuf,
    /// The connectors at work, which delivery uses too.
    pub registry: Arc<ConnectorRegistry>,
    /// How others reach the service.
    pub control: Arc<ConnectorControl>,
}

/// Wakes the service of this process after connectors were changed.
#[derive(Debug, Default)]
pub struct ConnectorControl {
    changed: Notify,
}

impl ConnectorControl {
    /// Has the service look at the connectors again.
    pub fn note_change(&self) {
        self.changed.notify_one();
    }

    pub(super) async fn changed(&self) {
        self.changed.notified().await;
    }
}

/// The service. It is stopped after the agents: what arrives then is not acknowledged, and comes again.
pub fn connector_service(options: ConnectorServiceOptions) -> Service {
    Service::new("connectors", move |handle| {
        let stop = CancellationToken::new();
        let supervisor = ConnectorSupervisor::new(handle.clone(), DEFAULT_TENANT, options);
        let running = tokio::spawn(supervisor.run(stop.clone()));
        Box::new(move || {
            stop.cancel();
            running.map(drop).boxed()
        })
    })
}

//! Options of the service that runs connectors, and how other parts of the server reach it.

use std::{path::PathBuf, sync::Arc};

use rooftree_connectors::SharedConnector;
use rooftree_runtime::{Clock, SystemClock};
use rooftree_store::ConnectorRow;
use tokio::sync::Notify;

use super::registry::ConnectorRegistry;

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

/// The connectors at work, as HTTP routes reach them.
#[derive(Clone)]
pub struct ConnectorRoutes {
    /// The connectors at work.
    pub registry: Arc<ConnectorRegistry>,
    /// The service that runs them.
    pub control: Arc<ConnectorControl>,
    /// The time, for signatures.
    pub clock: Arc<dyn Clock>,
}

impl Default for ConnectorRoutes {
    fn default() -> Self {
        Self {
            registry: Arc::default(),
            control: Arc::default(),
            clock: Arc::new(SystemClock),
        }
    }
}

//! Connectors of the server: runs them with secrets from the credential store, and delivers what the outbox has.

use std::sync::Arc;

use rooftree_runtime::{Handle, StopService};
use rooftree_server::connectors::{
    ConnectorRoutes, ConnectorSecretFn, ConnectorServiceOptions, platform_factory,
    start_connectors, start_delivery,
};

use crate::{
    commands::connectors::secret_account, credentials::Credentials, environment::Environment,
};

/// The connectors at work.
pub(super) struct ServedConnectors {
    pub(super) routes: ConnectorRoutes,
    stops: [StopService; 2],
}

impl ServedConnectors {
    pub(super) fn start(handle: &Handle, environment: &Environment) -> Self {
        let routes = ConnectorRoutes::default();
        let credentials = Credentials::of(environment);
        // Looked up each time: a secret may be stored while the server runs.
        let secret: ConnectorSecretFn = Arc::new(move |name| {
            let found = credentials.find(&secret_account(name), &[]).ok()??;
            Some(found.key.reveal().to_owned())
        });
        let delivery = start_delivery(handle, routes.registry.clone());
        let connectors = start_connectors(
            handle,
            ConnectorServiceOptions {
                factory: platform_factory(secret),
                cwd: environment.cwd.clone(),
                registry: routes.registry.clone(),
                control: routes.control.clone(),
            },
        );
        Self {
            routes,
            stops: [connectors, delivery],
        }
    }

    /// Nothing arrives any more, then nothing is sent any more.
    pub(super) async fn stop(self) {
        for stop in self.stops {
            stop().await;
        }
    }
}

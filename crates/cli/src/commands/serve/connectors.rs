//! Connectors of the server: runs them with secrets from the credential store, and delivers what the outbox has.

use std::sync::Arc;

use rooftree_runtime::AgentRuntime;
use rooftree_server::connectors::{
    ConnectorRoutes, ConnectorSecretFn, ConnectorServiceOptions, connector_service,
    delivery_service, platform_factory,
};

use crate::{
    commands::connectors::secret_account, credentials::Credentials, environment::Environment,
};

/// Adds the services of connectors to a runtime. They stop in reverse: nothing arrives any more, then nothing is sent
/// any more.
pub(super) fn start(runtime: &mut AgentRuntime, environment: &Environment) -> ConnectorRoutes {
    let routes = ConnectorRoutes::default();
    let credentials = Credentials::of(environment);
    // Looked up each time: a secret may be stored while the server runs.
    let secret: ConnectorSecretFn = Arc::new(move |name| {
        let found = credentials.find(&secret_account(name), &[]).ok()??;
        Some(found.key.reveal().to_owned())
    });
    runtime.add_service(delivery_service(routes.registry.clone()));
    runtime.add_service(connector_service(ConnectorServiceOptions {
        factory: platform_factory(secret),
        cwd: environment.cwd.clone(),
        registry: routes.registry.clone(),
        control: routes.control.clone(),
    }));
    routes
}

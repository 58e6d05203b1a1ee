//! The service that runs connectors: started with the runtime, it supervises a poller for each enabled connector.

use futures::FutureExt;
use rooftree_protocol::principal::DEFAULT_TENANT;
use rooftree_runtime::{Handle, Service, StopService};
use tokio_util::sync::CancellationToken;

use super::{service_options::ConnectorServiceOptions, supervisor::ConnectorSupervisor};

/// The service that runs connectors. What arrives after it was stopped is not acknowledged, and comes again.
pub fn connector_service(options: ConnectorServiceOptions) -> Service {
    Service::new("connectors", move |handle| start(handle, options))
}

fn start(handle: &Handle, options: ConnectorServiceOptions) -> StopService {
    let stop = CancellationToken::new();
    let supervisor = ConnectorSupervisor::new(handle.clone(), DEFAULT_TENANT, options);
    let running = tokio::spawn(supervisor.run(stop.clone()));
    Box::new(move || {
        stop.cancel();
        running.map(drop).boxed()
    })
}

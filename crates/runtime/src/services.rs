//! Services of a runtime: background work that is started in one order and stopped in the reverse order.

use std::sync::Arc;

use futures::future::BoxFuture;

use crate::{Handle, runtime_context::RuntimeContext};

/// Stops a service. The future ends when the service has stopped.
pub type StopService = Box<dyn FnOnce() -> BoxFuture<'static, ()> + Send + Sync>;

type StartService = Box<dyn FnOnce(&Handle) -> StopService + Send>;

/// Background work that lives as long as a runtime.
pub struct Service {
    name: &'static str,
    start: StartService,
}

impl Service {
    /// A service that is started like this, and stopped by what that gives back.
    pub fn new(
        name: &'static str,
        start: impl FnOnce(&Handle) -> StopService + Send + 'static,
    ) -> Self {
        let start = Box::new(start);
        Self { name, start }
    }

    /// Starts it. A runtime does so with its own services; other processes do it themselves.
    pub fn start(self, handle: &Handle) -> StopService {
        (self.start)(handle)
    }

    /// A service that starts by itself when it is first used, and only has to be stopped.
    pub(crate) fn on_stop<F>(name: &'static str, context: &Arc<RuntimeContext>, stop: F) -> Self
    where
        F: FnOnce(Arc<RuntimeContext>) -> BoxFuture<'static, ()> + Send + Sync + 'static,
    {
        let context = context.clone();
        Self::new(name, |_| Box::new(move || stop(context)))
    }
}

/// Services that were started, in the order of their start.
pub(crate) struct RunningServices(Vec<(&'static str, StopService)>);

impl RunningServices {
    /// Starts these services, the first one first.
    pub(crate) fn start(services: impl IntoIterator<Item = Service>, handle: &Handle) -> Self {
        let start = |service: Service| (service.name, service.start(handle));
        Self(services.into_iter().map(start).collect())
    }

    /// Starts one more.
    pub(crate) fn add(&mut self, service: Service, handle: &Handle) {
        self.0.push((service.name, service.start(handle)));
    }

    /// Invariant: services are stopped in the reverse order of their start, each before the next one: a service may
    /// use those that were started before it until it has stopped.
    pub(crate) async fn stop(self) {
        for (_, stop) in self.0.into_iter().rev() {
            stop().await;
        }
    }

    /// Their names, in the order of their start.
    pub(crate) fn names(&self) -> Vec<&'static str> {
        self.0.iter().map(|(name, _)| *name).collect()
    }
}

//! Starts and stops the runtime, in order (graceful shutdown).

use std::sync::{Arc, atomic::Ordering::Relaxed};

use futures::FutureExt;
use rooftree_protocol::Verifier;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::{
    Handle, Service, effective_rights, hooks,
    redacting_store::RedactingStore,
    router::Router,
    runtime_context::{RuntimeContext, SessionAction},
    runtime_options::RuntimeOptions,
    services::{RunningServices, StopService},
    signals::AgentSignal,
    tasks::ProcessTaskList,
    unfinished_sessions::{self, UnfinishedSession},
};

/// A runtime and its agents. Dropping it without [`AgentRuntime::stop`] leaves runs to be resumed.
pub struct AgentRuntime {
    handle: Handle,
    context: Arc<RuntimeContext>,
    router: Arc<Router>,
    services: RunningServices,
}

impl AgentRuntime {
    /// Starts the runtime: the given services first, then its own. No agent runs until a command comes.
    pub(crate) fn start(mut options: RuntimeOptions, given: Vec<Service>) -> Self {
        options.store = Arc::new(RedactingStore::new(options.store, options.secrets.clone()));
        guard_scripts(&mut options);
        let (context, requested) = RuntimeContext::new(options);
        let router = Router::new(context.clone());
        let handle = Handle::with_agents(context.clone(), router.clone());
        let own = own_services(&context, router.clone(), requested);
        let all = given.into_iter().chain(own);
        Self {
            services: RunningServices::start(all, &handle),
            handle,
            context,
            router,
        }
    }

    /// A way in.
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// How many events were read from journals to wake agents, since this runtime started.
    pub fn folded_events(&self) -> u64 {
        self.context.caches.resting.folded()
    }

    /// Wakes every session that has something left to do: what a server does when it starts. Says which ones
    /// there are, and why one cannot go on.
    pub async fn recover(&self) -> Result<Vec<UnfinishedSession>, crate::Error> {
        let context = &self.context;
        crate::tasks::settle_orphaned_programs(&**context.store(), None, context.now()).await?;
        context.takes_all.store(true, Relaxed);
        let unfinished = unfinished_sessions::list(context).await?;
        for one in unfinished.iter().filter(|one| one.problem.is_none()) {
            self.router.wake(&one.session.id, AgentSignal::Mail);
        }
        Ok(unfinished)
    }

    /// The sessions that have something left to do, none of which is woken.
    pub async fn unfinished(&self) -> Result<Vec<UnfinishedSession>, crate::Error> {
        unfinished_sessions::list(&self.context).await
    }

    /// Starts one more service. It is stopped before all others.
    pub fn add_service(&mut self, service: Service) {
        self.services.add(service, &self.handle);
    }

    /// Its services, in the order of their start.
    pub fn services(&self) -> Vec<&'static str> {
        self.services.names()
    }

    /// Stops: agents finish nothing, keep everything, and give their claims back. What was
    /// running goes on at the next start. Background processes and servers are ended.
    pub async fn stop(self) {
        self.services.stop().await;
    }
}

/// The runtime's own services, in the order of their start: each may use those before it, so agents come last and
/// are stopped first.
fn own_services(
    context: &Arc<RuntimeContext>,
    router: Arc<Router>,
    requested: mpsc::UnboundedReceiver<SessionAction>,
) -> [Service; 7] {
    let (processes, closing) = (context.clone(), context.closing.clone());
    [
        Service::on_stop("session hooks", context, |context| {
            async move { end_sessions(&context).await }.boxed()
        }),
        Service::on_stop("call socket", context, |context| {
            async move { context.call_socket.close() }.boxed()
        }),
        Service::on_stop("mcp servers", context, |context| {
            async move { context.options.tools.servers.close().await }.boxed()
        }),
        Service::new("process tasks", |_| process_tasks(processes)),
        Service::on_stop("background processes", context, |context| {
            async move { context.options.tools.processes.stop_everything().await }.boxed()
        }),
        Service::new("session actions", |_| {
            session_actions(closing, router, requested)
        }),
        Service::on_stop("agents", context, |context| {
            async move {
                context.closing.cancel();
                context.task_tracker.close();
                context.task_tracker.wait().await;
            }
            .boxed()
        }),
    ]
}

/// Writes down what becomes of background processes, until it is told to stop.
fn process_tasks(context: Arc<RuntimeContext>) -> StopService {
    let ended = CancellationToken::new();
    let events = context.options.tools.processes.events();
    let list = tokio::spawn(ProcessTaskList::new(context).keep(events, ended.clone()));
    Box::new(move || {
        ended.cancel();
        list.map(drop).boxed()
    })
}

/// Does what agents want done with other sessions, until the runtime closes.
fn session_actions(
    closing: CancellationToken,
    router: Arc<Router>,
    requested: mpsc::UnboundedReceiver<SessionAction>,
) -> StopService {
    let done = tokio::spawn(router.run_session_actions(requested));
    Box::new(move || {
        closing.cancel();
        done.map(drop).boxed()
    })
}

/// What hooks and verifiers run must not be changed by those they watch: it is looked at now, a person is asked
/// before a tool changes it, and no confined command can.
fn guard_scripts(options: &mut RuntimeOptions) {
    for verifier in options.agents.project_context.current().verifiers.values() {
        if let Verifier::Command { command, .. } = verifier {
            options.agents.hooks.pin_verifier(command);
        }
    }
    options.rights.policy.ask.extend(effective_rights::guarding(
        &options.agents.hooks,
        &options.agents.definitions,
    ));
    let protected = options.rights.sandbox.protected.iter().cloned();
    options.rights.sandbox.protected = protected.chain(options.agents.hooks.pins.files()).collect();
}

/// Notifies hooks that no agent works on these sessions any more.
async fn end_sessions(context: &RuntimeContext) {
    let options = &context.options;
    let hooks = &options.agents.hooks;
    for left in context.session_tracker.end_all() {
        let run_context = hooks.run_context(options.rights.sandbox.clone());
        hooks::notify_session_end(left, hooks, run_context, options.clock.clone()).await;
    }
}

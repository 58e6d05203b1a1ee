//! Starts and stops the runtime, in order (graceful shutdown).

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, Ordering::Relaxed},
};

use rooftree_protocol::Verifier;
use rooftree_store::Owner;
use tokio::{sync::mpsc, task::JoinHandle};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    Handle, RuntimeOptions,
    bus::Bus,
    cached_answers::AnswerCache,
    call_socket::CallSocket,
    delegation_registry::DelegationRegistry,
    effective_rights,
    hooks::{self, SessionTracker},
    rate_limiter::RateLimiter,
    resolved_agent::ResolvedAgentCache,
    router::Router,
    runtime_context::RuntimeContext,
    saved_rules::SavedRules,
    secrets::RedactingStore,
    signals::{AgentSignal, AwakeSessions},
    tasks::ProcessTaskList,
    unfinished_sessions::{self, UnfinishedSession},
};

/// A runtime and its agents. Dropping it without [`AgentRuntime::stop`] leaves runs to be resumed.
pub struct AgentRuntime {
    handle: Handle,
    /// Writes down what becomes of processes, until it is told to stop.
    list: JoinHandle<()>,
    listing: CancellationToken,
}

impl AgentRuntime {
    /// Starts the runtime. No agent runs until a command comes.
    pub fn start(mut options: RuntimeOptions) -> Self {
        options.store = Arc::new(RedactingStore::new(options.store, options.secrets.clone()));
        guard_scripts(&mut options);
        let call_socket = CallSocket::new(options.call_socket.clone());
        let (session_actions, to_do) = mpsc::unbounded_channel();
        let context = Arc::new(RuntimeContext {
            options,
            bus: Bus::default(),
            resolved_agents: ResolvedAgentCache::default(),
            rate_limiter: RateLimiter::default(),
            owner: Owner::this_process(),
            closing: CancellationToken::new(),
            task_tracker: TaskTracker::new(),
            delegations: DelegationRegistry::default(),
            saved_rules: SavedRules::default(),
            session_tracker: SessionTracker::default(),
            answer_cache: AnswerCache::default(),
            call_socket,
            awake: AwakeSessions::default(),
            mode_changes: Mutex::default(),
            takes_all: AtomicBool::new(false),
            session_actions,
        });
        let processes = context.options.processes.events();
        let listing = CancellationToken::new();
        let list =
            tokio::spawn(ProcessTaskList::new(context.clone()).keep(processes, listing.clone()));
        let router = Router::new(context.clone());
        tokio::spawn(router.clone().run_session_actions(to_do));
        Self {
            handle: Handle { router, context },
            list,
            listing,
        }
    }

    /// A way in.
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// Wakes every session that has something left to do: what a server does when it starts. Says which ones
    /// there are, and why one cannot go on.
    pub async fn recover(&self) -> Result<Vec<UnfinishedSession>, crate::Error> {
        let context = &self.handle.context;
        crate::tasks::settle_orphaned_programs(&**context.store(), None, context.now()).await?;
        context.takes_all.store(true, Relaxed);
        let unfinished = unfinished_sessions::list(context).await?;
        for one in unfinished.iter().filter(|one| one.problem.is_none()) {
            self.handle.router.wake(&one.session.id, AgentSignal::Mail);
        }
        Ok(unfinished)
    }

    /// The sessions that have something left to do, none of which is woken.
    pub async fn unfinished(&self) -> Result<Vec<UnfinishedSession>, crate::Error> {
        unfinished_sessions::list(&self.handle.context).await
    }

    /// Stops: agents finish nothing, keep everything, and give their claims back. What was
    /// running goes on at the next start. Background processes and servers are ended.
    pub async fn stop(self) {
        let context = &self.handle.context;
        context.closing.cancel();
        context.task_tracker.close();
        context.task_tracker.wait().await;
        context.options.processes.stop_everything().await;
        self.listing.cancel();
        let _ = self.list.await;
        context.options.servers.close().await;
        context.call_socket.close();
        end_sessions(context).await;
    }
}

/// What hooks and verifiers run must not be changed by those they watch: it is looked at now, a person is asked
/// before a tool changes it, and no confined command can.
fn guard_scripts(options: &mut RuntimeOptions) {
    for verifier in options.project_context.current().verifiers.values() {
        if let Verifier::Command { command, .. } = verifier {
            options.hooks.pin_verifier(command);
        }
    }
    options.policy.ask.extend(effective_rights::guarding(
        &options.hooks,
        &options.definitions,
    ));
    let protected = options.sandbox.protected.iter().cloned();
    options.sandbox.protected = protected.chain(options.hooks.pins.files()).collect();
}

/// Notifies hooks that no agent works on these sessions any more.
async fn end_sessions(context: &RuntimeContext) {
    let RuntimeOptions {
        hooks,
        clock,
        sandbox,
        ..
    } = &context.options;
    for left in context.session_tracker.end_all() {
        hooks::notify_session_end(
            left,
            hooks,
            hooks.run_context(sandbox.clone()),
            clock.clone(),
        )
        .await;
    }
}

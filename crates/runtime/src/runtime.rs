//! Starts and stops everything, in order.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, Ordering::Relaxed},
};

use rooftree_protocol::Verifier;
use rooftree_store::Owner;
use tokio::{sync::mpsc, task::JoinHandle};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    Handle, Options,
    answers::Answers,
    bus::Bus,
    doorway::Doorway,
    effective,
    governor::Governor,
    hooks::{self, Begun},
    kit::Kits,
    replies::Replies,
    router::Router,
    secrets::GuardedStore,
    signals::{Awake, Signal},
    standing::StandingRules,
    tasks::List,
    unfinished::{self, Unfinished},
    world::World,
};

/// Agents under one roof. Dropping it without [`Runtime::stop`] leaves runs to be resumed.
pub struct Runtime {
    handle: Handle,
    /// Writes down what becomes of processes, until it is told to stop.
    list: JoinHandle<()>,
    listing: CancellationToken,
}

impl Runtime {
    /// Opens the doors. Nothing runs until a command comes.
    pub fn start(mut options: Options) -> Self {
        options.store = Arc::new(GuardedStore::new(options.store, options.secrets.clone()));
        guard_scripts(&mut options);
        let doorway = Doorway::new(options.calls.clone());
        let (errands, to_do) = mpsc::unbounded_channel();
        let world = Arc::new(World {
            options,
            bus: Bus::default(),
            kits: Kits::default(),
            governor: Governor::default(),
            owner: Owner::this_process(),
            closing: CancellationToken::new(),
            crew: TaskTracker::new(),
            replies: Replies::default(),
            standing: StandingRules::default(),
            begun: Begun::default(),
            answers: Answers::default(),
            doorway,
            awake: Awake::default(),
            agreed: Mutex::default(),
            takes_all: AtomicBool::new(false),
            errands,
        });
        let processes = world.options.processes.events();
        let listing = CancellationToken::new();
        let list = tokio::spawn(List::new(world.clone()).keep(processes, listing.clone()));
        let router = Router::new(world.clone());
        tokio::spawn(router.clone().run_errands(to_do));
        Self { handle: Handle { router, world }, list, listing }
    }

    /// A way in.
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// Wakes every session that has something left to do: what a server does when it starts. Says which ones
    /// there are, and why one cannot go on.
    pub async fn recover(&self) -> Result<Vec<Unfinished>, crate::Error> {
        let world = &self.handle.world;
        crate::tasks::settle_left_programs(&**world.store(), None, world.now()).await?;
        world.takes_all.store(true, Relaxed);
        let unfinished = unfinished::list(world).await?;
        for one in unfinished.iter().filter(|one| one.problem.is_none()) {
            self.handle.router.wake(&one.session.id, Signal::Mail);
        }
        Ok(unfinished)
    }

    /// The sessions that have something left to do, none of which is woken.
    pub async fn unfinished(&self) -> Result<Vec<Unfinished>, crate::Error> {
        unfinished::list(&self.handle.world).await
    }

    /// Stops: agents finish nothing, keep everything, and give their claims back. What was
    /// running goes on at the next start. Background processes and servers are ended.
    pub async fn stop(self) {
        let world = &self.handle.world;
        world.closing.cancel();
        world.crew.close();
        world.crew.wait().await;
        world.options.processes.stop_everything().await;
        self.listing.cancel();
        let _ = self.list.await;
        world.options.servers.close().await;
        world.doorway.close();
        end_sessions(world).await;
    }
}

/// What hooks and verifiers run must not be changed by those they watch: it is looked at now, a person is asked
/// before a tool changes it, and no confined command can.
fn guard_scripts(options: &mut Options) {
    for verifier in options.surroundings.current().verifiers.values() {
        if let Verifier::Command { command, .. } = verifier {
            options.hooks.pin_verifier(command);
        }
    }
    options.policy.ask.extend(effective::guarding(&options.hooks, &options.definitions));
    let protected = options.sandbox.protected.iter().cloned();
    options.sandbox.protected = protected.chain(options.hooks.pins.files()).collect();
}

/// Tells hooks that nobody works on these sessions any more.
async fn end_sessions(world: &World) {
    let Options { hooks, clock, sandbox, .. } = &world.options;
    for left in world.begun.end_all() {
        hooks::leave(left, hooks, hooks.ground(sandbox.clone()), clock.clone()).await;
    }
}

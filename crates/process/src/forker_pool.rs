//! Forkers that wait for the next command of their session, few and not for long.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::time::{Instant, sleep};

use crate::{
    idle_forker::IdleForker,
    sandbox::{Sandbox, SandboxBackend, helper},
};

/// How many wait at most; the one that has waited longest is ended for another.
const MOST: usize = 8;

/// How long one waits for the next command.
const PATIENCE: Duration = Duration::from_secs(20);

static WAITING: Mutex<Vec<(Instant, IdleForker)>> = Mutex::new(Vec::new());

/// Whether a forker could not be started here, by backend. Then commands are started one by one.
static IS_REFUSED: [AtomicBool; 2] = [const { AtomicBool::new(false) }; 2];

fn waiting() -> MutexGuard<'static, Vec<(Instant, IdleForker)>> {
    WAITING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A forker for the next command in this sandbox; none if commands have to be started one by one.
///
/// Only a session's sandbox has one: its `/tmp` tells sessions apart. A gate is for one command.
pub(crate) async fn forker_for(
    sandbox: &Arc<Sandbox>,
    backend: SandboxBackend,
) -> Option<IdleForker> {
    let is_session = sandbox.temporary.is_some() && sandbox.gate.is_none();
    if !is_session || helper().is_none() {
        return None;
    }
    if let Some(known) = taken(sandbox, backend) {
        return Some(known);
    }
    let [bubblewrap, landlock] = &IS_REFUSED;
    let is_refused = match backend {
        SandboxBackend::Bubblewrap => bubblewrap,
        SandboxBackend::Landlock => landlock,
    };
    if is_refused.load(Ordering::Relaxed) {
        return None;
    }
    let started = IdleForker::start(sandbox, backend).await;
    if let Ok(None) = started {
        is_refused.store(true, Ordering::Relaxed);
    }
    started.ok().flatten()
}

/// One that waits for a command in this sandbox. Those whose sandbox is not what it would be now are ended.
fn taken(sandbox: &Sandbox, backend: SandboxBackend) -> Option<IdleForker> {
    loop {
        let found = {
            let mut waiting = waiting();
            let at = waiting
                .iter()
                .position(|(_, forker)| forker.proof.is_about(sandbox, backend))?;
            waiting.swap_remove(at).1
        };
        if found.proof.holds() {
            return Some(found);
        }
    }
}

/// Keeps one for the next command of its session. Only inside a tokio runtime.
pub(crate) fn keep(forker: IdleForker) {
    let mut others = {
        let mut waiting = waiting();
        waiting.push((Instant::now(), forker));
        let oldest = waiting.iter().map(|(since, _)| *since).min();
        let is_full = waiting.len() > MOST;
        let oldest = waiting
            .iter()
            .position(|(since, _)| is_full && Some(*since) == oldest);
        oldest.map(|at| waiting.swap_remove(at))
    };
    // Ended after the lock is free.
    drop(others.take());
    ForkerTimer::start();
}

/// Ends those that have waited too long; one task does it for all of them.
struct ForkerTimer;

static IS_TIMED: AtomicBool = AtomicBool::new(false);

impl ForkerTimer {
    fn start() {
        if IS_TIMED.swap(true, Ordering::AcqRel) {
            return;
        }
        let timer = Self;
        tokio::spawn(async move {
            // Moved in, so that the next one can start even if this runtime ends first.
            let _timer = timer;
            loop {
                sleep(PATIENCE / 2).await;
                let is_late = |(since, _): &mut (Instant, IdleForker)| since.elapsed() > PATIENCE;
                // Ended after the lock is free.
                let _late: Vec<_> = waiting().extract_if(.., is_late).collect();
                let waiting = waiting();
                if waiting.is_empty() {
                    // While the lock is held, so that the next caller of `keep` starts another timer.
                    IS_TIMED.store(false, Ordering::Release);
                    return;
                }
            }
        });
    }
}

impl Drop for ForkerTimer {
    fn drop(&mut self) {
        IS_TIMED.store(false, Ordering::Release);
    }
}

//! Starts child processes on one thread that lives as long as this process, and tells them apart by a mark.

use std::{
    io,
    os::fd::OwnedFd,
    sync::{
        LazyLock, OnceLock,
        atomic::{AtomicU64, Ordering},
        mpsc,
    },
    thread,
};

use nix::unistd::Pid;
use tokio::sync::oneshot;

use crate::{Error, ProcessIdentity, child::GroupLeader, clone, spawn_plan::SpawnPlan};

/// Which process a child is. It has not been reaped yet, so `/proc` shows it even if it has ended already.
pub(crate) fn identity_of(leader: &GroupLeader) -> ProcessIdentity {
    ProcessIdentity::of(leader.pid()).unwrap_or(ProcessIdentity {
        group: leader.pid(),
        start: 0,
    })
}

/// A mark for the environment of one program and its descendants.
pub(crate) fn next_mark() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    static OWN: LazyLock<ProcessIdentity> = LazyLock::new(|| {
        let own = Pid::this().as_raw();
        ProcessIdentity::of(own).unwrap_or(ProcessIdentity {
            group: own,
            start: 0,
        })
    });
    format!(
        "{}.{}.{}",
        OWN.group,
        OWN.start,
        NEXT.fetch_add(1, Ordering::Relaxed)
    )
}

/// The outer error: there is no thread to start it; the inner one: it did not start.
pub(crate) async fn start(plan: SpawnPlan) -> Result<io::Result<(GroupLeader, OwnedFd)>, Error> {
    let (tx, rx) = oneshot::channel();
    let job = move || {
        let started = clone::start(&plan).map(|(pid, watch)| (GroupLeader::new(pid), watch));
        // Drop the plan, and our write ends with it, before sending: the output ends once no process holds a write end.
        drop(plan);
        // If the receiver is gone, dropping the leader kills the program.
        let _ = tx.send(started);
    };
    if !on_spawn_thread(job) {
        return Err(Error::Gone);
    }
    rx.await.map_err(|_| Error::Gone)
}

type SpawnJob = Box<dyn FnOnce() + Send>;

/// Runs a job on the one thread that starts all child processes; says whether there is one.
///
/// The parent-death signal fires when the *thread* that started a child ends, and a worker of an async runtime may
/// end at any time. So one thread that lives as long as this process starts them all.
fn on_spawn_thread(job: impl FnOnce() + Send + 'static) -> bool {
    static JOBS: OnceLock<Option<mpsc::Sender<SpawnJob>>> = OnceLock::new();
    let jobs = JOBS.get_or_init(|| {
        let (tx, rx) = mpsc::channel::<SpawnJob>();
        let work = move || rx.into_iter().for_each(|job| job());
        thread::Builder::new()
            .name("spawner".to_owned())
            .spawn(work)
            .ok()
            .map(|_| tx)
    });
    jobs.as_ref()
        .is_some_and(|jobs| jobs.send(Box::new(job)).is_ok())
}

//! The one thread that starts all child processes.
//!
//! The parent-death signal fires when the *thread* that started a child ends, and a worker of an async runtime may
//! end at any time. So one thread that lives as long as this process starts them all.

use std::{
    sync::{OnceLock, mpsc},
    thread,
};

type SpawnJob = Box<dyn FnOnce() + Send>;

/// Runs a job on the thread; says whether there is one.
pub(crate) fn run(job: impl FnOnce() + Send + 'static) -> bool {
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

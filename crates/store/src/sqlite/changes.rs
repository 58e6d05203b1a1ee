//! Tells watchers that something was committed, here or by another process.
//!
//! Own commits are told by the writer. Those of others are found by asking SQLite for its
//! data version, in a thread that lives only while somebody watches.

use std::{
    path::PathBuf,
    sync::{Arc, Condvar, Mutex, PoisonError},
    thread::{self, JoinHandle},
    time::Duration,
};

use rusqlite::Connection;
use tokio::sync::watch;

use super::connect;

/// How often other processes' commits are looked for.
const EVERY: Duration = Duration::from_millis(25);

/// The news and who is told.
pub(crate) struct Changes {
    news: watch::Sender<u64>,
    lookout: Mutex<Lookout>,
    wake: Condvar,
}

#[derive(Default)]
struct Lookout {
    thread: Option<JoinHandle<()>>,
    is_running: bool,
    is_closed: bool,
}

impl Changes {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self { news: watch::Sender::new(0), lookout: Mutex::default(), wake: Condvar::new() })
    }

    /// Says that something was committed.
    pub(crate) fn tell(&self) {
        self.news.send_modify(|count| *count = count.wrapping_add(1));
    }

    /// A new watcher of the file at `path`.
    pub(crate) fn watch(self: &Arc<Self>, path: &std::path::Path) -> watch::Receiver<u64> {
        let mut lookout = self.lookout.lock().unwrap_or_else(PoisonError::into_inner);
        // Subscribed under the lock: a thread about to end for want of watchers sees this one.
        let watcher = self.news.subscribe();
        if !lookout.is_running && !lookout.is_closed {
            let (changes, path) = (Arc::clone(self), path.to_owned());
            let started =
                thread::Builder::new().name("store-changes".into()).spawn(move || changes.look_out(path));
            lookout.is_running = started.is_ok();
            lookout.thread = started.ok();
        }
        watcher
    }

    /// Ends the thread, if there is one.
    pub(crate) fn close(&self) {
        let thread = {
            let mut lookout = self.lookout.lock().unwrap_or_else(PoisonError::into_inner);
            lookout.is_closed = true;
            lookout.thread.take()
        };
        self.wake.notify_all();
        if let Some(thread) = thread {
            let _ = thread.join();
        }
    }

    fn look_out(&self, path: PathBuf) {
        let connection = connect::reader(&path);
        let mut seen = connection.as_ref().ok().and_then(version);
        // What was committed since the watcher came and before this look is not seen: tell once.
        self.tell();
        while self.is_wanted() {
            let now = connection.as_ref().ok().and_then(version);
            // If nothing can be found out, it fires for nothing rather than not at all.
            if now.is_none() || now != seen {
                seen = now;
                self.tell();
            }
        }
    }

    /// Waits a moment; says whether anybody still watches, and leaves the post if not.
    fn is_wanted(&self) -> bool {
        let lookout = self.lookout.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.wake.wait_timeout_while(lookout, EVERY, |lookout| !lookout.is_closed);
        let (mut lookout, _) = waited.unwrap_or_else(PoisonError::into_inner);
        lookout.is_running = !lookout.is_closed && self.news.receiver_count() > 0;
        lookout.is_running
    }
}

fn version(connection: &Connection) -> Option<i64> {
    connection.prepare_cached("PRAGMA data_version").ok()?.query_row([], |row| row.get(0)).ok()
}

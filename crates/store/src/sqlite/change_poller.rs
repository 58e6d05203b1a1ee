//! Notifies subscribers that another process committed something.
//!
//! SQLite's data version, queried on the writer's own connection, changes only when another connection commits. So the
//! writer polls it between its own commits, and only while there are subscribers.

use std::time::{Duration, Instant};

use rusqlite::Connection;
use tokio::sync::watch;

/// How often other processes' commits are looked for.
pub(crate) const EVERY: Duration = Duration::from_millis(25);

/// The news and who is told.
pub(crate) struct ChangeNotifier(watch::Sender<u64>);

impl ChangeNotifier {
    pub(crate) fn new() -> Self {
        Self(watch::Sender::new(0))
    }

    /// A new watcher.
    pub(crate) fn watch(&self) -> watch::Receiver<u64> {
        self.0.subscribe()
    }

    pub(crate) fn is_watched(&self) -> bool {
        self.0.receiver_count() > 0
    }

    fn tell(&self) {
        self.0.send_modify(|count| *count = count.wrapping_add(1));
    }
}

/// The writer's eye on others.
pub(crate) struct ChangePoller {
    seen: Option<i64>,
    next: Instant,
}

impl ChangePoller {
    pub(crate) fn new(connection: &Connection) -> Self {
        Self {
            seen: version(connection),
            next: Instant::now(),
        }
    }

    /// Looks, if it is time to, and tells the watchers.
    pub(crate) fn poll_if_due(&mut self, connection: &Connection, changes: &ChangeNotifier) {
        let now = Instant::now();
        if now < self.next || !changes.is_watched() {
            return;
        }
        self.next = now + EVERY;
        let version = version(connection);
        // If nothing can be found out, it fires for nothing rather than not at all.
        if version.is_none() || version != self.seen {
            self.seen = version;
            changes.tell();
        }
    }
}

fn version(connection: &Connection) -> Option<i64> {
    connection
        .prepare_cached("PRAGMA data_version")
        .ok()?
        .query_row([], |row| row.get(0))
        .ok()
}

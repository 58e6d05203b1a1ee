//! Opens the database in a thread of its own, while settings and agents are read.
//!
//! Opening means parsing the schema and, before the first write, calling fsync on the log and on its directory. A command
//! that will write anyway has other work to do meanwhile. The patterns of secrets, which redact all that is written, are
//! compiled beside it too.

use std::{
    path::Path,
    sync::mpsc::{self, Receiver},
    thread::{self, JoinHandle},
};

use rooftree_runtime::SecretRedactor;
use rooftree_store::{Error, SqliteStore};

/// A database that is being opened. Dropping it waits for that and closes the database again, as a kill in the middle
/// would leave its log behind.
pub struct StoreOpening {
    opened: Receiver<Result<SqliteStore, Error>>,
    thread: Option<JoinHandle<()>>,
}

impl StoreOpening {
    /// Begins to open a database. One that is not there is not made: what was typed may still prove to be wrong, and then
    /// nothing must be left behind.
    pub fn begin(database: &Path) -> Self {
        let (answer, opened) = mpsc::sync_channel(1);
        let database = database.is_file().then(|| database.to_owned());
        let work = move || {
            if let Some(database) = database {
                let store = SqliteStore::open(database);
                if let Ok(store) = &store {
                    store.prepare();
                }
                // A send error means that the database is not needed after all.
                let _ = answer.send(store);
            }
            drop(SecretRedactor::default().clean(""));
        };
        let thread = thread::Builder::new().name("store-opening".into());
        Self {
            opened,
            // Without a thread it is opened when it is needed.
            thread: thread.spawn(work).ok(),
        }
    }

    /// The database, as soon as it is open; none if it is still to be made.
    pub fn finish(mut self) -> Option<Result<SqliteStore, Error>> {
        self.thread.take();
        self.opened.recv().ok()
    }
}

impl Drop for StoreOpening {
    fn drop(&mut self) {
        if let Some(thread) = self.thread.take() {
            // It has sent, or will, without waiting: what it sends is dropped with the receiver.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p_5_a_database_that_is_there_is_opened_beside_and_one_that_is_not_is_not_made() {
        let directory = tempfile::TempDir::new().unwrap();
        let path = directory.path().join("rooftree.db");
        assert!(StoreOpening::begin(&path).finish().is_none());
        drop(StoreOpening::begin(&path));
        assert!(!path.exists(), "nothing was made");
        drop(SqliteStore::open(&path).unwrap());
        let store = StoreOpening::begin(&path).finish().unwrap().unwrap();
        assert_eq!(store.path(), path);
        drop(store);
        drop(StoreOpening::begin(&path));
        assert!(
            !directory.path().join("rooftree.db-wal").exists(),
            "what is not needed is closed in order"
        );
    }
}

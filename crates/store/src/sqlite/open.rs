//! Opens a store, to write or only to read; refuses to write where something is missing.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use rusqlite::config::DbConfig;

use super::{
    SqliteStore,
    change_poller::ChangeNotifier,
    connect,
    database_guard::DatabaseGuard,
    reader_pool::ReaderPool,
    writer::{Writer, files::DatabaseFiles},
};
use crate::Error;

/// A store that was opened to be read, at its end.
pub(super) struct CheckpointOnDrop {
    path: PathBuf,
    gate: DatabaseGuard,
}

impl Drop for CheckpointOnDrop {
    fn drop(&mut self) {
        self.gate.checkpoint_leftover(&self.path);
    }
}

impl SqliteStore {
    /// Opens a database; makes it, and the directories above it, if it is not there. One from which something is
    /// missing that was stored is refused, so that it is not written over.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let gate = DatabaseGuard::open_for_write(path)?;
        let connection = connect::writer(path)?;
        let missing = gate.missing(&connection)?;
        if !missing.is_empty() {
            // The last connection to close would move what is left of the log, and remove the rest of it.
            connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
            let what: Vec<String> = missing.into_iter().chain(gate.log_damage(true)).collect();
            return Err(Error::Damaged(format!(
                "{}: {}",
                path.display(),
                what.join("; ")
            )));
        }
        gate.share()?;
        let (readers, changes) = (
            Arc::new(ReaderPool::new(path)),
            Arc::new(ChangeNotifier::new()),
        );
        let files = Arc::new(DatabaseFiles::new(path, gate, Arc::clone(&readers)));
        let writer = Some(Writer::start(connection, Arc::clone(&changes), files)?);
        Ok(Self {
            readers,
            writer,
            changes,
            path: path.to_owned(),
            found: Vec::new(),
            _leaving: None,
        })
    }

    /// Opens a database only to look at it. Works on a read-only file; every write is refused,
    /// and a search finds only what an earlier one has indexed. What is missing is told by [`SqliteStore::found`].
    pub fn open_read_only(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let gate = DatabaseGuard::open_for_read(path)?;
        let connection = connect::reader(path)?;
        let mut found = gate.missing(&connection)?;
        found.extend(gate.log_damage(!found.is_empty()));
        drop(connection);
        gate.share()?;
        let leaving = found.is_empty().then(|| CheckpointOnDrop {
            path: path.to_owned(),
            gate,
        });
        Ok(Self {
            readers: Arc::new(ReaderPool::new(path)),
            writer: None,
            changes: Arc::new(ChangeNotifier::new()),
            path: path.to_owned(),
            found,
            _leaving: leaving,
        })
    }
}

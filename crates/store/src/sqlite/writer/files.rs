//! The files a writer works with: the log it has synced, the mark beside it, and how they are opened anew.

use std::{
    fs::File,
    io,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
};

use rusqlite::Connection;

use crate::{
    Error,
    sqlite::{
        connect,
        database_guard::{self, DatabaseGuard},
        durability_mark::RowCounts,
        reader_pool::ReaderPool,
    },
};

/// What a writer asks of its files. Tests have a disk of their own.
pub(crate) trait WriterFiles: Send + Sync {
    /// Has the log synced. Never called again for a log for which it failed.
    fn sync(&self) -> io::Result<()>;
    /// So much is on disk now.
    fn promised(&self, _counts: RowCounts) {}
    /// A sync has failed.
    fn failed(&self) {}
    /// Opens the database anew with new file descriptors, and a log that is written anew.
    fn reopen(&self) -> Result<Connection, Error>;
    /// Whether the database file has to say, now, that it needs a log from here on.
    fn is_begin_of_use(&self) -> bool {
        false
    }
    /// Checkpoints the log into the database, as far as that blocks no other connection.
    fn checkpoint(&self) {}
}

/// The files of a real database.
pub(crate) struct DatabaseFiles {
    path: PathBuf,
    /// The log, opened at the first sync, and closed when one fails.
    log: Mutex<Option<File>>,
    gate: DatabaseGuard,
    readers: Arc<ReaderPool>,
    begins: AtomicBool,
}

impl DatabaseFiles {
    pub(crate) fn new(path: &Path, gate: DatabaseGuard, readers: Arc<ReaderPool>) -> Self {
        let begins = AtomicBool::new(gate.was_alone());
        Self {
            path: path.to_owned(),
            log: Mutex::default(),
            gate,
            readers,
            begins,
        }
    }
}

impl WriterFiles for DatabaseFiles {
    fn sync(&self) -> io::Result<()> {
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        let file = match log.take() {
            Some(file) => file,
            None => File::open(connect::log_of(&self.path))?,
        };
        file.sync_data()?;
        *log = Some(file);
        Ok(())
    }

    fn promised(&self, counts: RowCounts) {
        self.gate.promised(counts);
    }

    fn failed(&self) {
        self.gate.log_failed();
    }

    fn reopen(&self) -> Result<Connection, Error> {
        self.log
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        self.readers.disconnect()?;
        self.gate.rewrite_log(&self.path)?;
        let connection = connect::writer(&self.path)?;
        self.gate.share()?;
        Ok(connection)
    }

    fn is_begin_of_use(&self) -> bool {
        let begins = self.begins.swap(false, SeqCst);
        if begins {
            self.gate.begin_use();
        }
        begins
    }

    fn checkpoint(&self) {
        database_guard::checkpoint(&self.path);
    }
}

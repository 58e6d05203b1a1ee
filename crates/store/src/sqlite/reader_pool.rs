//! Pool of reader threads beside the writer, each with its own connection.
//!
//! A thread is started when a read finds all others busy, and opens its connection when it
//! has its first read: a program that only posts never pays for either. Opening one means parsing the schema, which
//! takes longer than most reads: reads that come while a connection is being opened wait for it.

use std::{
    collections::VecDeque,
    path::{Path, PathBuf},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use rusqlite::Connection;

use super::connect;
use crate::{Error, Pending};

/// How many there are at most.
const AT_ONCE: usize = 4;

type ReadJob = Box<dyn FnOnce(Result<&Connection, Error>) + Send>;

/// The threads and what waits for them. Dropping it drops what waits.
pub(crate) struct ReaderPool(Arc<ReaderPoolShared>);

struct ReaderPoolShared {
    path: PathBuf,
    state: Mutex<ReaderPoolState>,
    wake: Condvar,
    /// Notified when a connection is closed.
    left: Condvar,
}

#[derive(Default)]
struct ReaderPoolState {
    waiting: VecDeque<ReadJob>,
    idle: usize,
    /// How many threads were started and have not opened their first connection yet.
    starting: usize,
    threads: Vec<JoinHandle<()>>,
    /// How many have a connection.
    connected: usize,
    /// Counts how often all were told to close their connections.
    epoch: u64,
    is_closed: bool,
}

/// How long all may take to close their connections.
const DISCONNECT: Duration = Duration::from_secs(1);

/// What a thread does next.
enum ReaderTask {
    Read(ReadJob),
    Disconnect,
}

impl ReaderPool {
    pub(crate) fn new(path: &Path) -> Self {
        let (path, state) = (path.to_owned(), Mutex::default());
        Self(Arc::new(ReaderPoolShared {
            path,
            state,
            wake: Condvar::new(),
            left: Condvar::new(),
        }))
    }

    /// Reads as soon as a thread is free.
    pub(crate) fn read<T, F>(&self, work: F) -> Pending<T>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T, Error> + Send + 'static,
    {
        let (answer, pending) = Pending::new();
        let mut state = self.0.state();
        state.waiting.push_back(Box::new(move |connection| {
            let _ = answer.send(connection.and_then(work));
        }));
        let is_enough = state.idle >= state.waiting.len() || state.starting > 0;
        if !is_enough && state.threads.len() < AT_ONCE {
            let shared = Arc::clone(&self.0);
            let started = thread::Builder::new()
                .name("store-reader".into())
                .spawn(move || shared.serve());
            state.starting += usize::from(started.is_ok());
            state.threads.extend(started.ok());
        }
        drop(state);
        self.0.wake.notify_one();
        pending
    }
}

impl ReaderPool {
    /// Closes all connections; the next read opens a new one. Fails on timeout if a read takes too long, as one does
    /// that waits for the caller of this.
    pub(crate) fn disconnect(&self) -> Result<(), Error> {
        let until = Instant::now() + DISCONNECT;
        let mut state = self.0.state();
        state.epoch += 1;
        self.0.wake.notify_all();
        while state.connected > 0 {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(Error::Failed(
                    "the database is being read; try again".into(),
                ));
            }
            state = self
                .0
                .left
                .wait_timeout(state, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
        Ok(())
    }
}

impl Drop for ReaderPool {
    fn drop(&mut self) {
        let threads = {
            let mut state = self.0.state();
            state.is_closed = true;
            state.waiting.clear();
            std::mem::take(&mut state.threads)
        };
        self.0.wake.notify_all();
        for thread in threads {
            let _ = thread.join();
        }
    }
}

impl ReaderPoolShared {
    fn state(&self) -> MutexGuard<'_, ReaderPoolState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn serve(&self) {
        let (mut connection, mut epoch, mut is_starting) = (None, 0, true);
        while let Some(next) = self.next(&mut epoch) {
            let ReaderTask::Read(read) = next else {
                self.close(connection.take());
                continue;
            };
            if connection.is_none() {
                let opened = self.connect();
                if std::mem::take(&mut is_starting) {
                    self.state().starting -= 1;
                }
                match opened {
                    Ok(opened) => connection = Some(opened),
                    Err(error) => {
                        read(Err(error));
                        continue;
                    }
                }
            }
            if let Some(connection) = &connection {
                read(Ok(connection));
            }
        }
        self.close(connection);
    }

    fn connect(&self) -> Result<Connection, Error> {
        // Counted before it is open: `disconnect` must wait for it.
        self.state().connected += 1;
        let opened = connect::reader(&self.path);
        if opened.is_err() {
            self.disconnected();
        }
        opened
    }

    fn close(&self, connection: Option<Connection>) {
        if connection.is_some() {
            drop(connection);
            self.disconnected();
        }
    }

    fn disconnected(&self) {
        self.state().connected -= 1;
        self.left.notify_all();
    }

    fn next(&self, epoch: &mut u64) -> Option<ReaderTask> {
        let mut state = self.state();
        loop {
            if state.is_closed {
                return None;
            }
            if state.epoch != *epoch {
                *epoch = state.epoch;
                return Some(ReaderTask::Disconnect);
            }
            if let Some(read) = state.waiting.pop_front() {
                return Some(ReaderTask::Read(read));
            }
            state.idle += 1;
            state = self
                .wake
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
            state.idle -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A pool on a new database.
    fn pool(directory: &tempfile::TempDir) -> ReaderPool {
        let path = directory.path().join("rooftree.db");
        drop(connect::writer(&path).unwrap());
        ReaderPool::new(&path)
    }

    #[tokio::test]
    async fn p_5_reads_that_come_while_the_first_connection_is_opened_open_no_other() {
        let directory = tempfile::TempDir::new().unwrap();
        let pool = pool(&directory);
        // As long as another connection has the file for itself, none can be opened.
        let path = directory.path().join("rooftree.db");
        let lock = Connection::open(&path).unwrap();
        lock.execute_batch("PRAGMA locking_mode = EXCLUSIVE; BEGIN IMMEDIATE; COMMIT")
            .unwrap();
        let reads = [1, 2, 3].map(|number| pool.read(move |_| Ok(number)));
        drop(lock);
        let mut found = Vec::new();
        for read in reads {
            found.push(read.await.unwrap());
        }
        assert_eq!(found, [1, 2, 3]);
        assert_eq!(pool.0.state().connected, 1);
    }

    #[tokio::test]
    async fn a_read_that_finds_all_threads_busy_gets_one_of_its_own() {
        let directory = tempfile::TempDir::new().unwrap();
        let pool = pool(&directory);
        pool.read(|_| Ok(())).await.unwrap();
        let (go_on, wait) = std::sync::mpsc::channel::<()>();
        let (began, begins) = std::sync::mpsc::channel::<()>();
        let slow = pool.read(move |_| {
            let _ = began.send(());
            let _ = wait.recv();
            Ok(())
        });
        begins.recv().unwrap();
        pool.read(|_| Ok(())).await.unwrap();
        assert_eq!(pool.0.state().connected, 2);
        go_on.send(()).unwrap();
        slow.await.unwrap();
    }

    #[tokio::test]
    async fn a_thread_whose_connection_fails_lets_the_next_read_start_another() {
        let directory = tempfile::TempDir::new().unwrap();
        let pool = ReaderPool::new(&directory.path().join("not-there.db"));
        for _ in 0..2 {
            assert!(pool.read(|_| Ok(())).await.is_err());
        }
        assert_eq!(pool.0.state().starting, 0);
    }
}

//! A few threads that read beside the writer, each with its own connection.
//!
//! A thread is started when a read finds all others busy, and opens its connection when it
//! has its first read: a program that only posts never pays for either.

use std::{
    collections::VecDeque,
    path::{Path, PathBuf},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::{self, JoinHandle},
};

use rusqlite::Connection;

use super::connect;
use crate::{Error, Pending};

/// How many there are at most.
const AT_ONCE: usize = 4;

type Read = Box<dyn FnOnce(Result<&Connection, Error>) + Send>;

/// The threads and what waits for them. Dropping it drops what waits.
pub(crate) struct Readers(Arc<Shared>);

struct Shared {
    path: PathBuf,
    state: Mutex<State>,
    wake: Condvar,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Read>,
    idle: usize,
    threads: Vec<JoinHandle<()>>,
    is_closed: bool,
}

impl Readers {
    pub(crate) fn new(path: &Path) -> Self {
        Self(Arc::new(Shared { path: path.to_owned(), state: Mutex::default(), wake: Condvar::new() }))
    }

    /// The file they read.
    pub(crate) fn path(&self) -> &Path {
        &self.0.path
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
        if state.idle < state.waiting.len() && state.threads.len() < AT_ONCE {
            let shared = Arc::clone(&self.0);
            let started = thread::Builder::new().name("store-reader".into()).spawn(move || shared.serve());
            state.threads.extend(started.ok());
        }
        drop(state);
        self.0.wake.notify_one();
        pending
    }
}

impl Drop for Readers {
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

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn serve(&self) {
        let mut connection = None;
        while let Some(read) = self.next() {
            if connection.is_none() {
                match connect::reader(&self.path) {
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
    }

    fn next(&self) -> Option<Read> {
        let mut state = self.state();
        loop {
            if state.is_closed {
                return None;
            }
            if let Some(read) = state.waiting.pop_front() {
                return Some(read);
            }
            state.idle += 1;
            state = self.wake.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.idle -= 1;
        }
    }
}

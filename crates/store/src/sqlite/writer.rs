//! The one thread that writes, and how it puts many writes into one commit.
//!
//! It takes what is queued, at most [`TOGETHER`] operations, and never waits for more: groups
//! form by themselves while the previous commit is on its way to the disk. Invariant: nobody
//! is answered before the commit that holds the answer's truth is through.

use std::{
    sync::{Arc, mpsc},
    thread::{self, JoinHandle},
};

use rusqlite::Connection;

use super::{changes::Changes, connect::patiently};
use crate::{Error, Pending, failpoint, pending::Answer};

/// How many operations share a commit at most.
const TOGETHER: usize = 128;

/// Something to be done inside a transaction. It may be attempted again if the transaction
/// was lost for a reason that is not its own.
pub(crate) trait Operation: Send {
    fn attempt(&mut self, connection: &Connection) -> Result<(), Error>;
    fn answer(self: Box<Self>, committed: Result<(), Error>);
}

struct Write<T, F> {
    work: F,
    outcome: Option<Result<T, Error>>,
    answer: Answer<T>,
}

impl<T, F> Operation for Write<T, F>
where
    T: Send,
    F: FnMut(&Connection) -> Result<T, Error> + Send,
{
    fn attempt(&mut self, connection: &Connection) -> Result<(), Error> {
        let outcome = (self.work)(connection);
        let told = outcome.as_ref().map(|_| ()).map_err(Clone::clone);
        self.outcome = Some(outcome);
        told
    }

    fn answer(self: Box<Self>, committed: Result<(), Error>) {
        let Self { outcome, answer, .. } = *self;
        let never = || Err(Error::Failed("the write was not attempted".into()));
        // Whoever does not listen any more wanted no answer.
        let _ = answer.send(committed.and_then(|()| outcome.unwrap_or_else(never)));
    }
}

/// The way to the writer's queue.
#[derive(Clone)]
pub(crate) struct Queue(mpsc::Sender<Box<dyn Operation>>);

impl Queue {
    /// Queues a write; the order of calls is the order of commits.
    pub(crate) fn write<T, F>(&self, work: F) -> Pending<T>
    where
        T: Send + 'static,
        F: FnMut(&Connection) -> Result<T, Error> + Send + 'static,
    {
        let (answer, pending) = Pending::new();
        // If the thread is gone, dropping the answer says that the store was closed.
        let _ = self.0.send(Box::new(Write { work, outcome: None, answer }));
        pending
    }
}

/// The thread itself. Dropping it finishes what is queued.
pub(crate) struct Writer {
    queue: Option<Queue>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    /// Starts writing through a connection.
    pub(crate) fn start(connection: Connection, changes: Arc<Changes>) -> Result<Self, Error> {
        let (queue, queued) = mpsc::channel();
        let thread = thread::Builder::new()
            .name("store-writer".into())
            .spawn(move || work_off(&connection, &queued, &changes))
            .map_err(|error| Error::Failed(format!("start the writer: {error}")))?;
        Ok(Self { queue: Some(Queue(queue)), thread: Some(thread) })
    }

    /// The way to its queue.
    pub(crate) fn queue(&self) -> Option<&Queue> {
        self.queue.as_ref()
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.queue.take();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn work_off(connection: &Connection, queued: &mpsc::Receiver<Box<dyn Operation>>, changes: &Changes) {
    while let Ok(first) = queued.recv() {
        let mut group = vec![first];
        group.extend(queued.try_iter().take(TOGETHER - 1));
        commit_group(connection, group);
        changes.tell();
    }
}

/// Commits a group as one. If that fails for a reason that may be one member's alone (it
/// needs more space than there is), each gets its own commit and its own answer.
fn commit_group(connection: &Connection, mut group: Vec<Box<dyn Operation>>) {
    let outcome = commit(connection, &mut group);
    if outcome.is_ok() || group.len() == 1 {
        return group.into_iter().for_each(|operation| operation.answer(outcome.clone()));
    }
    for operation in group {
        let mut alone = [operation];
        let outcome = commit(connection, &mut alone);
        alone.into_iter().for_each(|operation| operation.answer(outcome.clone()));
    }
}

fn commit(connection: &Connection, group: &mut [Box<dyn Operation>]) -> Result<(), Error> {
    patiently(|| connection.prepare_cached("BEGIN IMMEDIATE")?.execute([]))?;
    let outcome = attempt_all(connection, group).and_then(|()| {
        failpoint::reach("commit.before");
        patiently(|| connection.prepare_cached("COMMIT")?.execute([]))
    });
    failpoint::reach("commit.after");
    // A full disk ends the transaction by itself; then there is nothing to roll back.
    if outcome.is_err() && !connection.is_autocommit() {
        connection.execute_batch("ROLLBACK")?;
    }
    outcome.map(|_| ())
}

/// Each operation gets a savepoint: one that is refused leaves no trace and harms nobody.
fn attempt_all(connection: &Connection, group: &mut [Box<dyn Operation>]) -> Result<(), Error> {
    let say = |sql: &str| connection.prepare_cached(sql)?.execute([]);
    for operation in group {
        say("SAVEPOINT operation")?;
        if let Err(refusal) = operation.attempt(connection) {
            if connection.is_autocommit() {
                return Err(refusal);
            }
            say("ROLLBACK TO operation")?;
        }
        say("RELEASE operation")?;
    }
    Ok(())
}

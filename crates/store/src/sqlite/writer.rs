//! The one thread that writes, and how it puts many writes into one commit.
//!
//! It takes what is queued, and what comes while it does so, at most [`TOGETHER`] operations:
//! groups form by themselves. Where many were answered together, as many are about to come again;
//! only those are waited for, and for no longer than [`LULL`]. Invariant: nobody is answered
//! before the commit that holds the answer's truth is through.

mod line;
#[cfg(test)]
mod tests;

use std::{
    collections::VecDeque,
    sync::Arc,
    thread::{self, JoinHandle},
    time::Duration,
};

use rusqlite::Connection;

use self::line::{Entry, Exit, Nothing, line};
use super::{
    changes::{Changes, EVERY, Lookout},
    connect::{self, patiently},
};
use crate::{Error, Pending, failpoint, pending::Answer};

/// How many operations share a commit at most.
const TOGETHER: usize = 128;

/// Groups of fewer than this are not waited for: one who writes alone has nobody to share with.
const CROWD: usize = 8;

/// How long a crowd may fall silent before the disk is asked without the rest of it. A commit takes
/// several times as long, and whoever misses one waits for two.
const LULL: Duration = Duration::from_micros(60);

/// Something to be done inside a transaction. It may be attempted again if the transaction
/// was lost for a reason that is not its own.
pub(crate) trait Operation: Send {
    fn promise(&self) -> Promise;
    fn attempt(&mut self, connection: &Connection) -> Result<(), Error>;
    fn answer(self: Box<Self>, committed: Result<(), Error>);
}

/// What an answered write survives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Promise {
    /// A power failure.
    Disk,
    /// The end of this process: all others see it. A power failure may take it, and takes
    /// whoever it is about as well.
    Sight,
}

struct Write<T, F> {
    work: F,
    promise: Promise,
    outcome: Option<Result<T, Error>>,
    answer: Answer<T>,
}

impl<T, F> Operation for Write<T, F>
where
    T: Send,
    F: FnMut(&Connection) -> Result<T, Error> + Send,
{
    fn promise(&self) -> Promise {
        self.promise
    }

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

/// What reaches the writer.
enum Queued {
    Operation(Box<dyn Operation>),
    /// Somebody watches from now on.
    Watched,
}

/// The way to the writer's queue.
#[derive(Clone)]
pub(crate) struct Queue(Entry<Queued>);

impl Queue {
    /// Queues a write; the order of calls is the order of commits.
    pub(crate) fn write<T, F>(&self, work: F) -> Pending<T>
    where
        T: Send + 'static,
        F: FnMut(&Connection) -> Result<T, Error> + Send + 'static,
    {
        self.write_for(Promise::Disk, work)
    }

    /// Queues a write that promises no more than this.
    pub(crate) fn write_for<T, F>(&self, promise: Promise, work: F) -> Pending<T>
    where
        T: Send + 'static,
        F: FnMut(&Connection) -> Result<T, Error> + Send + 'static,
    {
        let (answer, pending) = Pending::new();
        // If the thread is gone, dropping the answer says that the store was closed.
        self.0.put(Queued::Operation(Box::new(Write { work, promise, outcome: None, answer })));
        pending
    }

    /// Queues a write that goes with the next one, or by itself as soon as its answer is waited for.
    pub(crate) fn write_in_company<T, F>(&self, work: F) -> Pending<T>
    where
        T: Send + 'static,
        F: FnMut(&Connection) -> Result<T, Error> + Send + 'static,
    {
        let (answer, pending) = Pending::in_company(self.0.waker());
        let promise = Promise::Disk;
        self.0.lay(Queued::Operation(Box::new(Write { work, promise, outcome: None, answer })));
        pending
    }

    /// Says that somebody watches for other processes' commits from now on.
    pub(crate) fn watched(&self) {
        self.0.put(Queued::Watched);
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
        let (entry, exit) = line();
        let thread = thread::Builder::new()
            .name("store-writer".into())
            .spawn(move || work_off(&connection, exit, &changes))
            .map_err(|error| Error::Failed(format!("start the writer: {error}")))?;
        Ok(Self { queue: Some(Queue(entry)), thread: Some(thread) })
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

/// What waits for the writer.
struct Waiting {
    exit: Exit<Queued>,
    /// Taken out and not yet begun.
    at_hand: VecDeque<Queued>,
    /// How many shared the last commit.
    before: usize,
}

impl Waiting {
    fn new(exit: Exit<Queued>) -> Self {
        Self { exit, at_hand: VecDeque::new(), before: 0 }
    }

    /// The next operation, if one is there already.
    fn by_now(&mut self) -> Option<Box<dyn Operation>> {
        if self.at_hand.is_empty() {
            self.exit.take_all(&mut self.at_hand);
        }
        loop {
            if let Queued::Operation(operation) = self.at_hand.pop_front()? {
                return Some(operation);
            }
        }
    }

    /// The next operation. Without a limit it waits until there is one; news that is none ends it too.
    fn next(&mut self, limit: Option<Duration>) -> Result<Box<dyn Operation>, Nothing> {
        if self.at_hand.is_empty() {
            self.exit.wait_for(1, limit)?;
        }
        self.by_now().ok_or(Nothing::Yet)
    }

    /// One more operation for a commit that promises this and holds so many, if it is there already
    /// or likely to come.
    fn company(&mut self, promise: Promise, held: usize) -> Option<Box<dyn Operation>> {
        let missing = self.before.saturating_sub(held);
        let waiting = self.by_now().or_else(|| {
            let is_crowd = promise == Promise::Disk && self.before >= CROWD;
            // Half of a crowd is written while the other half is still on its way.
            (is_crowd && missing > 0).then(|| self.next_of(missing.div_ceil(2)))?
        })?;
        if promise == Promise::Sight && waiting.promise() == Promise::Disk {
            self.at_hand.push_front(Queued::Operation(waiting));
            return None;
        }
        Some(waiting)
    }

    /// The next operation of a crowd, as soon as so many of it are there or no more seem to come.
    fn next_of(&mut self, crowd: usize) -> Option<Box<dyn Operation>> {
        self.exit.wait_for(crowd, Some(LULL)).ok()?;
        self.by_now()
    }
}

fn work_off(connection: &Connection, exit: Exit<Queued>, changes: &Changes) {
    let mut lookout = Lookout::new(connection);
    let mut waiting = Waiting::new(exit);
    loop {
        match waiting.next(changes.is_watched().then_some(EVERY)) {
            Ok(first) => commit_group(connection, first, &mut waiting),
            Err(Nothing::Yet) => {}
            Err(Nothing::Ever) => return connect::leave(connection),
        }
        lookout.look(connection, changes);
    }
}

/// Commits an operation and what has come with it as one. If even with savepoints that fails, the
/// reason may be one member's alone (it needs more space than there is): then each gets its own
/// commit and its own answer.
fn commit_group(connection: &Connection, first: Box<dyn Operation>, waiting: &mut Waiting) {
    let mut group = vec![first];
    while group.len() < TOGETHER
        && let Some(next) = waiting.by_now()
    {
        group.push(next);
    }
    let is_for_disk = group.iter().any(|operation| operation.promise() == Promise::Disk);
    let promise = if is_for_disk { Promise::Disk } else { Promise::Sight };
    let company = |held| waiting.company(promise, held);
    let mut outcome = commit(connection, promise, |connection| together(connection, &mut group, company));
    if outcome.is_err() && group.len() > 1 {
        outcome = commit(connection, promise, |connection| apart(connection, &mut group));
    }
    waiting.before = group.len();
    if outcome.is_ok() || group.len() == 1 {
        return group.into_iter().for_each(|operation| operation.answer(outcome.clone()));
    }
    for mut operation in group {
        let outcome = commit(connection, promise, |connection| operation.attempt(connection));
        operation.answer(outcome);
    }
}

/// One transaction that promises this.
fn commit(
    connection: &Connection,
    promise: Promise,
    work: impl FnOnce(&Connection) -> Result<(), Error>,
) -> Result<(), Error> {
    if promise == Promise::Disk {
        return commit_now(connection, work);
    }
    connection.execute_batch("PRAGMA synchronous = NORMAL")?;
    let outcome = commit_now(connection, work);
    // It can only fail inside a transaction, and then the next one cannot begin either.
    connection.execute_batch("PRAGMA synchronous = FULL")?;
    outcome
}

fn commit_now(
    connection: &Connection,
    work: impl FnOnce(&Connection) -> Result<(), Error>,
) -> Result<(), Error> {
    patiently(|| connection.prepare_cached("BEGIN IMMEDIATE")?.execute([]))?;
    let outcome = work(connection).and_then(|()| {
        failpoint::reach("commit.before");
        patiently(|| connection.prepare_cached("COMMIT")?.execute([]))?;
        failpoint::reach("commit.after");
        Ok(())
    });
    // A full disk ends the transaction by itself; then there is nothing to roll back.
    if outcome.is_err() && !connection.is_autocommit() {
        connection.execute_batch("ROLLBACK")?;
    }
    outcome
}

/// The members are not kept from each other: one refusal refuses the group. A savepoint costs a
/// copy of every page it sees changed, and refusals are rare, so this is tried first. What comes
/// meanwhile joins, so that nobody has to wait for the disk twice.
fn together(
    connection: &Connection,
    group: &mut Vec<Box<dyn Operation>>,
    mut company: impl FnMut(usize) -> Option<Box<dyn Operation>>,
) -> Result<(), Error> {
    let mut done = 0;
    loop {
        if done == group.len() && done < TOGETHER {
            group.extend(company(done));
        }
        let Some(operation) = group.get_mut(done) else { return Ok(()) };
        operation.attempt(connection)?;
        done += 1;
    }
}

/// Each member has a savepoint: one that is refused leaves no trace and harms nobody.
fn apart(connection: &Connection, group: &mut [Box<dyn Operation>]) -> Result<(), Error> {
    group.iter_mut().try_for_each(|operation| attempt_apart(connection, operation.as_mut()))
}

fn attempt_apart(connection: &Connection, operation: &mut dyn Operation) -> Result<(), Error> {
    let say = |sql: &str| connection.prepare_cached(sql)?.execute([]);
    say("SAVEPOINT operation")?;
    if let Err(refusal) = operation.attempt(connection) {
        if connection.is_autocommit() {
            return Err(refusal);
        }
        say("ROLLBACK TO operation")?;
    }
    say("RELEASE operation")?;
    Ok(())
}

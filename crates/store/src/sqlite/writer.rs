//! The one pen all writes go through, and how many of them share one commit.
//!
//! Whoever has the pen takes what is queued, and what comes while it does so, at most [`TOGETHER`] operations. A
//! commit is seen by all at once. Then it lays down the pen and asks the disk to keep what it wrote
//! (`writer/disk.rs`), while the other of two threads takes it up. As long as the disk is at work nothing that comes
//! can be promised any sooner: it is done, and the transaction stays open for more, so groups form by themselves.
//! Invariant: nobody is answered before the commit that holds the answer's truth is through.

mod disk;
mod line;
mod queue;
#[cfg(test)]
mod tests;

use std::{
    collections::VecDeque,
    io,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    thread::{self, JoinHandle},
    time::Duration,
};

use rusqlite::Connection;

pub(crate) use self::queue::{Promise, Queue};
use self::{
    disk::{Disk, Owed, Ticket, syncing},
    line::{Exit, Nothing, line},
    queue::{Operation, Queued},
};
use super::{
    changes::{Changes, EVERY, Lookout},
    connect::{self, patiently},
};
use crate::{Error, Pending, failpoint};

/// One writes while the other waits for the disk.
const THREADS: usize = 2;

/// How many operations share a commit at most.
const TOGETHER: usize = 128;

/// How many are worth waking up for while the disk is at work.
const SEVERAL: usize = 8;

/// Where at least so many were answered at once, as many are about to come again.
const CROWD: usize = 4;

/// How long a crowd may fall silent before the disk is asked without the rest of it. That takes several times
/// as long, and whoever is left out waits for it twice.
const LULL: Duration = Duration::from_micros(60);

/// The threads themselves. Dropping it finishes what is queued.
pub(crate) struct Writer {
    queue: Option<Queue>,
    shared: Arc<(Desk, Mutex<Pen>)>,
    threads: Vec<JoinHandle<()>>,
}

impl Writer {
    /// Starts writing through a connection.
    pub(crate) fn start(connection: Connection, changes: Arc<Changes>) -> Result<Self, Error> {
        let log = connect::log_of(Path::new(connection.path().unwrap_or_default()));
        Self::start_on(connection, changes, syncing(log))
    }

    /// The same with another way to ask the disk.
    fn start_on(
        connection: Connection,
        changes: Arc<Changes>,
        sync: impl Fn() -> io::Result<()> + Send + Sync + 'static,
    ) -> Result<Self, Error> {
        let (entry, exit) = line();
        // A commit writes its pages to the log. That they stay there is between us and the disk.
        connection.execute_batch("PRAGMA synchronous = NORMAL")?;
        let desk = Desk { exit, disk: Disk::new(sync, entry.nudge()), changes };
        let pen = Mutex::new(Pen { lookout: Lookout::new(&connection), connection });
        let shared = Arc::new((desk, pen));
        let threads = Vec::with_capacity(THREADS);
        let mut writer = Self { queue: Some(Queue(entry)), shared: Arc::clone(&shared), threads };
        for _ in 0..THREADS {
            let shared = Arc::clone(&shared);
            let work = move || work_off(&shared.0, &shared.1);
            let thread = thread::Builder::new().name("store-writer".into()).spawn(work);
            let failed = |error| Error::Failed(format!("start the writer: {error}"));
            writer.threads.push(thread.map_err(failed)?);
        }
        Ok(writer)
    }

    /// The way to its queue.
    pub(crate) fn queue(&self) -> Option<&Queue> {
        self.queue.as_ref()
    }

    /// Resolves when all that can be seen by now is on disk.
    pub(crate) fn settled(&self) -> Pending<()> {
        self.shared.0.disk.settled()
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.queue.take();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// What the threads share.
struct Desk {
    exit: Exit<Queued>,
    disk: Disk,
    changes: Arc<Changes>,
}

/// What only the one has whose turn it is.
struct Pen {
    connection: Connection,
    lookout: Lookout,
}

fn work_off(desk: &Desk, pen: &Mutex<Pen>) {
    loop {
        let turn = desk.exit.begin(desk.changes.is_watched().then_some(EVERY));
        let mut pen = pen.lock().unwrap_or_else(PoisonError::into_inner);
        let owed = match turn {
            Ok(()) => write(&pen.connection, desk),
            Err(Nothing::Yet) => None,
            Err(Nothing::Ever) => return connect::leave(&pen.connection),
        };
        let Pen { connection, lookout } = &mut *pen;
        lookout.look(connection, &desk.changes);
        drop(pen);
        if turn.is_ok() {
            desk.exit.end();
        }
        if let Some(owed) = owed {
            desk.disk.keep(owed);
        }
    }
}

/// Commits what waits; says what the disk is to keep.
fn write(connection: &Connection, desk: &Desk) -> Option<Owed> {
    let mut waiting = Waiting { desk, at_hand: VecDeque::new() };
    let first = waiting.by_now();
    let owed = first.map(|first| commit_group(connection, first, &mut waiting));
    // What a full transaction has left over is for whoever has the next turn, while we wait for the disk.
    desk.exit.put_back(waiting.at_hand);
    owed
}

impl Desk {
    /// Answers what is committed, or not, but for those who wait for the disk.
    fn answer(&self, ticket: Ticket, group: Vec<Box<dyn Operation>>, outcome: &Result<(), Error>) -> Owed {
        let (owed, now): (Vec<_>, Vec<_>) =
            group.into_iter().partition(|operation| outcome.is_ok() && operation.promise() == Promise::Disk);
        now.into_iter().for_each(|operation| operation.answer(outcome.clone()));
        self.disk.owe(ticket, owed)
    }
}

/// What waits to be written.
struct Waiting<'a> {
    desk: &'a Desk,
    /// Taken out of the line and not yet begun.
    at_hand: VecDeque<Queued>,
}

impl Waiting<'_> {
    /// The next operation, if one is there already.
    fn by_now(&mut self) -> Option<Box<dyn Operation>> {
        if self.at_hand.is_empty() {
            self.desk.exit.take_all(&mut self.at_hand);
        }
        loop {
            if let Queued::Operation(operation) = self.at_hand.pop_front()? {
                return Some(operation);
            }
        }
    }

    /// One more operation for the transaction that is open and holds so many. If somebody waits for its end it is
    /// only one that is there already; else there is time for as long as the disk is at work, and a little longer
    /// for those it has just answered.
    fn company(&mut self, held: usize, is_awaited: bool) -> Option<Box<dyn Operation>> {
        let Desk { exit, disk, .. } = self.desk;
        loop {
            let next = self.by_now();
            if next.is_some() || is_awaited {
                return next;
            }
            let (worth, limit) = if disk.is_busy() {
                (SEVERAL, None)
            } else {
                let crowd = Some(disk.answered()).filter(|answered| *answered >= CROWD)?;
                // Half of them are written while the other half is still on its way.
                (crowd.checked_sub(held)?.div_ceil(2), Some(LULL))
            };
            if worth == 0 || exit.wait_for(worth, limit).is_err() {
                return None;
            }
        }
    }
}

/// Commits an operation and what has come with it as one. If even with savepoints that fails, the
/// reason may be one member's alone (it needs more space than there is): then each gets its own
/// commit and its own answer.
fn commit_group(connection: &Connection, first: Box<dyn Operation>, waiting: &mut Waiting<'_>) -> Owed {
    let (ticket, mut group) = (waiting.desk.disk.ticket(), vec![first]);
    let company = |held, is_awaited| waiting.company(held, is_awaited);
    let mut outcome = commit(connection, |connection| together(connection, &mut group, company));
    if outcome.is_err() && group.len() > 1 {
        outcome = commit(connection, |connection| apart(connection, &mut group));
    }
    if outcome.is_ok() || group.len() == 1 {
        return waiting.desk.answer(ticket, group, &outcome);
    }
    let mut committed = Vec::with_capacity(group.len());
    for mut operation in group {
        match commit(connection, |connection| operation.attempt(connection)) {
            Ok(()) => committed.push(operation),
            refused => operation.answer(refused),
        }
    }
    waiting.desk.answer(ticket, committed, &Ok(()))
}

/// One transaction.
fn commit(connection: &Connection, work: impl FnOnce(&Connection) -> Result<(), Error>) -> Result<(), Error> {
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
    mut company: impl FnMut(usize, bool) -> Option<Box<dyn Operation>>,
) -> Result<(), Error> {
    let (mut done, mut is_awaited) = (0, false);
    loop {
        if done == group.len() && done < TOGETHER {
            group.extend(company(done, is_awaited));
        }
        let Some(operation) = group.get_mut(done) else { return Ok(()) };
        operation.attempt(connection)?;
        is_awaited |= operation.promise() == Promise::Sight;
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

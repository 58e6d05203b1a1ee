//! The single writer connection and its group commit.
//!
//! The thread that has the connection takes what is queued, and what arrives meanwhile, at most [`TOGETHER`]
//! operations, and commits them as one transaction, which other connections see at once. Then it passes the connection
//! to the other of two threads and calls fsync (`writer/fsync.rs`). While an fsync runs, operations that arrive cannot
//! be acknowledged any sooner: they are executed, and the transaction stays open for more, so batches form by
//! themselves. Invariant: no operation is acknowledged before the commit that contains it.

pub(crate) mod files;
mod fsync;
mod operation;
#[cfg(test)]
mod tests;
mod write_queue;

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use rusqlite::{Connection, config::DbConfig};

pub(crate) use self::operation::{Durability, WriterHandle};
use self::{
    files::WriterFiles,
    fsync::{CommitTicket, DiskSync, PendingAck},
    operation::{WriteOperation, WriterMessage},
    write_queue::{QueueEmpty, QueueReceiver, write_queue},
};
use super::{
    change_poller::{ChangeNotifier, ChangePoller, EVERY},
    connect::retry_while_busy,
    durability_mark::RowCounts,
};
use crate::{Error, Pending, failpoint};

/// Two: one writes while the other waits for fsync.
const THREADS: usize = 2;

/// Maximum number of operations per commit.
const TOGETHER: usize = 128;

/// Number of queued operations worth a wake-up while an fsync runs.
const SEVERAL: usize = 8;

/// If at least this many were acknowledged at once, as many new operations are expected.
const CROWD: usize = 4;

/// How long to wait for more writers before calling fsync. An fsync costs several times this, and a late writer needs
/// a second one.
const LULL: Duration = Duration::from_micros(60);

/// The writer threads. Dropping it finishes the queued operations.
pub(crate) struct Writer {
    queue: Option<WriterHandle>,
    shared: Arc<(WriterShared, Mutex<WriteConnection>)>,
    threads: Vec<JoinHandle<()>>,
}

impl Writer {
    /// Starts writing through a connection to these files.
    pub(crate) fn start(
        connection: Connection,
        changes: Arc<ChangeNotifier>,
        files: Arc<dyn WriterFiles>,
    ) -> Result<Self, Error> {
        let (entry, exit) = write_queue();
        let desk = WriterShared {
            exit,
            disk: DiskSync::new(files, entry.nudge()),
            changes,
            prepares: AtomicBool::new(false),
        };
        let pen = Mutex::new(WriteConnection::new(connection)?);
        let shared = Arc::new((desk, pen));
        let threads = Vec::with_capacity(THREADS);
        let mut writer = Self {
            queue: Some(WriterHandle(entry)),
            shared: Arc::clone(&shared),
            threads,
        };
        for _ in 0..THREADS {
            let shared = Arc::clone(&shared);
            let work = move || writer_loop(&shared.0, &shared.1);
            let thread = thread::Builder::new()
                .name("store-writer".into())
                .spawn(work);
            let failed = |error| Error::Failed(format!("start the writer: {error}"));
            writer.threads.push(thread.map_err(failed)?);
        }
        Ok(writer)
    }

    /// Handle of its queue.
    pub(crate) fn queue(&self) -> Option<&WriterHandle> {
        self.queue.as_ref()
    }

    /// Resolves once every commit visible now is fsynced.
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

/// State shared by the writer threads.
struct WriterShared {
    exit: QueueReceiver<WriterMessage>,
    disk: DiskSync,
    changes: Arc<ChangeNotifier>,
    /// Whether the log is to be begun before anything is written.
    prepares: AtomicBool,
}

/// State used only by the thread whose turn it is.
struct WriteConnection {
    /// None after a sync of the log has failed, until the database is opened anew.
    connection: Option<Connection>,
    lookout: ChangePoller,
}

impl WriteConnection {
    fn new(connection: Connection) -> Result<Self, Error> {
        // A commit writes its pages to the log without fsync; `DiskSync` does the fsync.
        connection.execute_batch("PRAGMA synchronous = NORMAL")?;
        Ok(Self {
            lookout: ChangePoller::new(&connection),
            connection: Some(connection),
        })
    }

    /// The connection. After a sync has failed it is a new one, to a log that was written anew.
    fn ready(&mut self, disk: &DiskSync) -> Result<&Connection, Error> {
        if disk.is_broken() {
            self.drop_log();
        }
        if self.connection.is_none() {
            *self = Self::new(disk.files().reopen()?)?;
            disk.note_log_rewritten();
        }
        self.connection
            .as_ref()
            .ok_or_else(|| Error::Failed("the database is closed".into()))
    }

    /// Closes a connection whose log failed. Nothing is moved out of that log.
    fn drop_log(&mut self) {
        if let Some(connection) = self.connection.take() {
            let _ = connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true);
        }
    }

    /// Writes into the log whether a copy of the database without it would lack something.
    fn say_log_needed(&self, is_needed: bool) {
        let sql = "UPDATE log_needed SET needed = ?1 WHERE needed <> ?1";
        if let Some(connection) = &self.connection {
            // If this fails, a copy without its log is not noticed; nothing else depends on it.
            let _ = retry_while_busy(|| connection.execute(sql, [is_needed]));
        }
    }
}

fn writer_loop(desk: &WriterShared, shared: &Mutex<WriteConnection>) {
    loop {
        let turn = desk.exit.begin(desk.changes.is_watched().then_some(EVERY));
        let mut pen = shared.lock().unwrap_or_else(PoisonError::into_inner);
        let owed = match turn {
            Ok(()) => match pen.ready(&desk.disk) {
                Ok(connection) => write(connection, desk),
                Err(error) => refuse(desk, &error),
            },
            Err(QueueEmpty::Yet) => None,
            Err(QueueEmpty::Ever) if desk.disk.is_broken() => return pen.drop_log(),
            Err(QueueEmpty::Ever) => return,
        };
        if let WriteConnection {
            connection: Some(connection),
            lookout,
        } = &mut *pen
        {
            lookout.poll_if_due(connection, &desk.changes);
        }
        drop(pen);
        if turn.is_ok() {
            desk.exit.end();
        }
        let is_owed = owed.is_some();
        if let Some(owed) = owed {
            desk.disk.sync_and_ack(owed);
        }
        if desk.prepares.swap(false, SeqCst) || is_owed {
            begin_use(desk, shared);
        }
    }
}

/// Stores a flag in the database file, once, that it needs a log: a checkpoint copies it into the file, and the log
/// overrides it from then on. If this is the first write of all, SQLite begins the log with it, for which it calls fsync
/// on the log and on its directory: later writes need not wait for these two.
fn begin_use(desk: &WriterShared, shared: &Mutex<WriteConnection>) {
    let pen = || shared.lock().unwrap_or_else(PoisonError::into_inner);
    if desk.disk.files().is_begin_of_use() && !desk.disk.is_broken() {
        pen().say_log_needed(true);
        desk.disk.files().checkpoint();
        pen().say_log_needed(false);
    }
}

/// Answers all queued operations with an error.
fn refuse(desk: &WriterShared, error: &Error) -> Option<PendingAck> {
    let mut waiting = WriteBacklog {
        desk,
        at_hand: VecDeque::new(),
    };
    while let Some(operation) = waiting.next_queued() {
        operation.answer(Err(error.clone()));
    }
    None
}

/// Commits the queued operations; returns the acknowledgements that must wait for fsync.
fn write(connection: &Connection, desk: &WriterShared) -> Option<PendingAck> {
    let mut waiting = WriteBacklog {
        desk,
        at_hand: VecDeque::new(),
    };
    let first = waiting.next_queued();
    let owed = first.map(|first| commit_group(connection, first, &mut waiting));
    // Operations that did not fit into the transaction go to the next turn, while this thread waits for fsync.
    desk.exit.put_back(waiting.at_hand);
    owed
}

impl WriterShared {
    /// Acknowledges the operations, or answers with the error, except those that wait for fsync.
    fn answer(
        &self,
        ticket: CommitTicket,
        group: Vec<Box<dyn WriteOperation>>,
        outcome: &Result<RowCounts, Error>,
    ) -> PendingAck {
        let (owed, now): (Vec<_>, Vec<_>) = group
            .into_iter()
            .partition(|operation| outcome.is_ok() && operation.promise() == Durability::Disk);
        let told = outcome.as_ref().map(|_| ()).map_err(Clone::clone);
        now.into_iter()
            .for_each(|operation| operation.answer(told.clone()));
        self.disk
            .defer_ack(ticket, owed, outcome.as_ref().ok().copied())
    }
}

/// The operations waiting to be written.
struct WriteBacklog<'a> {
    desk: &'a WriterShared,
    /// Taken from the queue and not yet started.
    at_hand: VecDeque<WriterMessage>,
}

impl WriteBacklog<'_> {
    /// The next operation, if one is queued already.
    fn next_queued(&mut self) -> Option<Box<dyn WriteOperation>> {
        if self.at_hand.is_empty() {
            self.desk.exit.take_all(&mut self.at_hand);
        }
        loop {
            match self.at_hand.pop_front()? {
                WriterMessage::Operation(operation) => return Some(operation),
                WriterMessage::Prepare => self.desk.prepares.store(true, SeqCst),
                WriterMessage::Watched => {}
            }
        }
    }

    /// One more operation for the open transaction, which has `held` so far. If a caller is waiting for its commit,
    /// returns only one that is queued already; else waits for more while an fsync runs, and a little longer for the
    /// callers it has just acknowledged.
    fn next_for_group(&mut self, held: usize, is_awaited: bool) -> Option<Box<dyn WriteOperation>> {
        let WriterShared { exit, disk, .. } = self.desk;
        loop {
            let next = self.next_queued();
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

/// Commits an operation and those that arrived with it as one transaction. If that fails even with savepoints, a
/// single member may be the reason (it needs more space than there is): then each gets its own commit and its own
/// answer.
fn commit_group(
    connection: &Connection,
    first: Box<dyn WriteOperation>,
    waiting: &mut WriteBacklog<'_>,
) -> PendingAck {
    let (ticket, mut group) = (waiting.desk.disk.ticket(), vec![first]);
    let company = |held, is_awaited| waiting.next_for_group(held, is_awaited);
    let mut outcome = commit(connection, |connection| {
        run_group(connection, &mut group, company)
    });
    if outcome.is_err() && group.len() > 1 {
        outcome = commit(connection, |connection| {
            run_with_savepoints(connection, &mut group)
        });
    }
    if outcome.is_ok() || group.len() == 1 {
        return waiting.desk.answer(ticket, group, &outcome);
    }
    let (mut committed, mut last) = (Vec::with_capacity(group.len()), RowCounts::default());
    for mut operation in group {
        match commit(connection, |connection| operation.attempt(connection)) {
            Ok(counts) => {
                committed.push(operation);
                last = counts;
            }
            Err(refused) => operation.answer(Err(refused)),
        }
    }
    waiting.desk.answer(ticket, committed, &Ok(last))
}

/// Runs one transaction. Returns the row counts of the database after it.
fn commit(
    connection: &Connection,
    work: impl FnOnce(&Connection) -> Result<(), Error>,
) -> Result<RowCounts, Error> {
    retry_while_busy(|| connection.prepare_cached("BEGIN IMMEDIATE")?.execute([]))?;
    let outcome = work(connection).and_then(|()| {
        let counts = RowCounts::of(connection)?;
        failpoint::reach("commit.before");
        retry_while_busy(|| connection.prepare_cached("COMMIT")?.execute([]))?;
        failpoint::reach("commit.after");
        Ok(counts)
    });
    // A full disk ends the transaction by itself; then there is nothing to roll back.
    if outcome.is_err() && !connection.is_autocommit() {
        connection.execute_batch("ROLLBACK")?;
    }
    outcome
}

/// Runs the members without savepoints: one error fails the whole group. A savepoint costs a copy of every page
/// changed in it, and errors are rare, so this is tried first. Operations that arrive meanwhile join, so that their
/// callers do not wait for a second fsync.
fn run_group(
    connection: &Connection,
    group: &mut Vec<Box<dyn WriteOperation>>,
    mut company: impl FnMut(usize, bool) -> Option<Box<dyn WriteOperation>>,
) -> Result<(), Error> {
    let (mut done, mut is_awaited) = (0, false);
    loop {
        if done == group.len() && done < TOGETHER {
            group.extend(company(done, is_awaited));
        }
        let Some(operation) = group.get_mut(done) else {
            return Ok(());
        };
        operation.attempt(connection)?;
        is_awaited |= operation.promise() == Durability::Sight;
        done += 1;
    }
}

/// Runs each member in a savepoint: one that fails is rolled back and does not affect the others.
fn run_with_savepoints(
    connection: &Connection,
    group: &mut [Box<dyn WriteOperation>],
) -> Result<(), Error> {
    group
        .iter_mut()
        .try_for_each(|operation| run_in_savepoint(connection, operation.as_mut()))
}

fn run_in_savepoint(
    connection: &Connection,
    operation: &mut dyn WriteOperation,
) -> Result<(), Error> {
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

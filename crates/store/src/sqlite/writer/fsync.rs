//! Calls fsync for committed transactions, while another thread goes on writing.
//!
//! A commit is visible to all processes at once, and survives this process. Only a completed fdatasync survives power
//! loss; one call covers all earlier commits. Invariant: an operation with `Durability::Disk` is not acknowledged
//! before.
//!
//! After a failed fsync the kernel may have dropped the pages, and reports it only once. So one sync runs at a time,
//! and after a failure none is called on the same log: every operation committed to it and not synced is answered with
//! the error, and the writer reopens the database with a rewritten log.

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::SeqCst},
};

use super::{files::WriterFiles, operation::WriteOperation};
use crate::{Error, Pending, pending::PendingSender, sqlite::durability_mark::RowCounts};

/// Calls fsync and acknowledges the operations that wait for it.
pub(super) struct DiskSync {
    files: Arc<dyn WriterFiles>,
    log: Mutex<SyncedLog>,
    /// The last transaction that is committed.
    committed: AtomicU64,
    /// Called when no fsync is pending any more, if a thread waits for that.
    done: Box<dyn Fn() + Send + Sync>,
    /// How many groups are committed and not on disk yet.
    open: AtomicUsize,
    is_awaited: AtomicBool,
    /// Number of operations acknowledged by the last fsync.
    answered: AtomicUsize,
    tickets: Mutex<OpenTickets>,
}

/// How much of the log is fsynced.
#[derive(Default)]
struct SyncedLog {
    /// All transactions up to this one are.
    upto: u64,
    /// The last one whose counts are in the mark.
    noted: u64,
    /// All up to this one that are not are on a log that failed.
    refused: u64,
    failure: Option<Error>,
    is_broken: bool,
}

/// Transactions, numbered in the order of their commits, from before they can be seen until they are on disk.
#[derive(Default)]
struct OpenTickets {
    last: u64,
    open: Vec<u64>,
    /// Callers that wait for all transactions up to a number.
    waiting: Vec<(u64, PendingSender<()>)>,
}

impl OpenTickets {
    fn is_open(&self, up_to: u64) -> bool {
        self.open.iter().any(|ticket| *ticket <= up_to)
    }

    /// Closes some; returns the senders of callers that need not wait any longer.
    fn close(&mut self, is_closed: impl Fn(u64) -> bool) -> Vec<PendingSender<()>> {
        self.open.retain(|ticket| !is_closed(*ticket));
        let (over, waiting) = std::mem::take(&mut self.waiting)
            .into_iter()
            .partition(|(up_to, _)| !self.is_open(*up_to));
        self.waiting = waiting;
        let over: Vec<(u64, PendingSender<()>)> = over;
        over.into_iter().map(|(_, answer)| answer).collect()
    }
}

/// The number of a transaction.
#[must_use = "a ticket that is never closed keeps readers waiting"]
pub(super) struct CommitTicket(u64);

/// Operations that are committed and not on disk yet.
#[must_use = "callers that wait for these are answered when they are synced"]
pub(super) struct PendingAck {
    ticket: CommitTicket,
    group: Vec<Box<dyn WriteOperation>>,
    /// What the database holds with it.
    counts: Option<RowCounts>,
}

impl DiskSync {
    /// Syncs these files.
    pub(super) fn new(
        files: Arc<dyn WriterFiles>,
        done: impl Fn() + Send + Sync + 'static,
    ) -> Self {
        Self {
            files,
            log: Mutex::default(),
            committed: AtomicU64::new(0),
            done: Box::new(done),
            open: AtomicUsize::new(0),
            is_awaited: AtomicBool::new(false),
            answered: AtomicUsize::new(0),
            tickets: Mutex::default(),
        }
    }

    /// The files it syncs.
    pub(super) fn files(&self) -> &dyn WriterFiles {
        &*self.files
    }

    /// Whether a sync has failed, and the log was not written anew since.
    pub(super) fn is_broken(&self) -> bool {
        self.log().is_broken
    }

    /// There is a new log. Transactions committed to the old one and not fsynced are not made durable by it.
    pub(super) fn note_log_rewritten(&self) {
        let last = self.tickets().last;
        let mut log = self.log();
        (log.is_broken, log.refused) = (false, last);
    }

    fn log(&self) -> MutexGuard<'_, SyncedLog> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Syncs the log up to a transaction, one sync at a time; skipped if a sync since its commit has covered it.
    fn sync(&self, ticket: u64, counts: Option<RowCounts>) -> Result<(), Error> {
        let mut log = self.log();
        if ticket > log.upto {
            if log.is_broken || ticket <= log.refused {
                return Err(log
                    .failure
                    .clone()
                    .unwrap_or_else(|| Error::Failed("the log failed".into())));
            }
            let committed = self.committed.load(SeqCst);
            if let Err(error) = self.files.sync() {
                let failure = Error::Failed(format!("the disk did not keep it: {error}"));
                (log.is_broken, log.failure) = (true, Some(failure.clone()));
                self.files.failed();
                return Err(failure);
            }
            log.upto = committed.max(ticket);
        }
        if let Some(counts) = counts.filter(|_| ticket > log.noted) {
            self.files.promised(counts);
            log.noted = ticket;
        }
        Ok(())
    }

    /// Starts a transaction, which can be seen before it is fsynced.
    pub(super) fn ticket(&self) -> CommitTicket {
        let mut tickets = self.tickets();
        tickets.last += 1;
        let last = tickets.last;
        tickets.open.push(last);
        CommitTicket(last)
    }

    /// Resolves once every commit visible now is fsynced.
    pub(super) fn settled(&self) -> Pending<()> {
        let (answer, pending) = Pending::new();
        let mut tickets = self.tickets();
        let last = tickets.last;
        if !tickets.is_open(last) {
            return Pending::ready(Ok(()));
        }
        tickets.waiting.push((last, answer));
        pending
    }

    fn tickets(&self) -> MutexGuard<'_, OpenTickets> {
        self.tickets.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers committed operations; the caller must pass the result to `sync_and_ack`.
    pub(super) fn defer_ack(
        &self,
        ticket: CommitTicket,
        group: Vec<Box<dyn WriteOperation>>,
        counts: Option<RowCounts>,
    ) -> PendingAck {
        self.committed.fetch_max(ticket.0, SeqCst);
        if !group.is_empty() {
            self.open.fetch_add(1, SeqCst);
        }
        PendingAck {
            ticket,
            group,
            counts,
        }
    }

    /// Waits for fsync and acknowledges the operations.
    pub(super) fn sync_and_ack(
        &self,
        PendingAck {
            ticket: CommitTicket(ticket),
            group,
            counts,
        }: PendingAck,
    ) {
        if group.is_empty() {
            // No operation waits for fsync. This transaction's outcome says nothing about earlier ones.
            let over = self.tickets().close(|open| open == ticket);
            return tell(over, &Ok(()));
        }
        let kept = self.sync(ticket, counts);
        self.answered.store(group.len(), SeqCst);
        group
            .into_iter()
            .for_each(|operation| operation.answer(kept.clone()));
        let over = self.tickets().close(|open| open <= ticket);
        tell(over, &kept);
        // Last: many of the callers just acknowledged send new operations meanwhile, which share the next commit.
        if self.open.fetch_sub(1, SeqCst) == 1 && self.is_awaited.swap(false, SeqCst) {
            (self.done)();
        }
    }

    /// Whether an fsync is pending. If so, `done` is called as soon as none is.
    pub(super) fn is_busy(&self) -> bool {
        if self.open.load(SeqCst) == 0 {
            return false;
        }
        self.is_awaited.store(true, SeqCst);
        self.open.load(SeqCst) != 0
    }

    /// Number of operations acknowledged by the last fsync.
    pub(super) fn answered(&self) -> usize {
        self.answered.load(SeqCst)
    }
}

fn tell(over: Vec<PendingSender<()>>, kept: &Result<(), Error>) {
    for answer in over {
        // A send error means that the caller dropped its `Pending`: it wants no answer.
        let _ = answer.send(kept.clone());
    }
}

//! Asks the disk to keep what is committed, while another thread goes on writing.
//!
//! A commit is seen by everybody at once, and survives this process. Only the disk's word makes it survive a power
//! failure, and its word for one commit holds for all before it. Invariant: nobody who was promised as much is
//! answered before.

use std::{
    fs::File,
    io,
    path::PathBuf,
    sync::{
        Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
    },
};

use super::queue::Operation;
use crate::{Error, Pending, pending::Answer};

/// The disk, and who waits for its word.
pub(super) struct Disk {
    sync: Box<dyn Fn() -> io::Result<()> + Send + Sync>,
    /// Called when it has nothing to do, if somebody waits for that.
    done: Box<dyn Fn() + Send + Sync>,
    /// How many groups are committed and not on disk yet.
    open: AtomicUsize,
    is_awaited: AtomicBool,
    /// How many operations were answered at once the last time.
    answered: AtomicUsize,
    tickets: Mutex<Tickets>,
}

/// Transactions, numbered in the order of their commits, from before they can be seen until they are on disk.
#[derive(Default)]
struct Tickets {
    last: u64,
    open: Vec<u64>,
    /// Who waits for all up to a number.
    waiting: Vec<(u64, Answer<()>)>,
}

impl Tickets {
    fn is_open(&self, up_to: u64) -> bool {
        self.open.iter().any(|ticket| *ticket <= up_to)
    }

    /// Closes some; returns those who need not wait any longer.
    fn close(&mut self, is_closed: impl Fn(u64) -> bool) -> Vec<Answer<()>> {
        self.open.retain(|ticket| !is_closed(*ticket));
        let (over, waiting) =
            std::mem::take(&mut self.waiting).into_iter().partition(|(up_to, _)| !self.is_open(*up_to));
        self.waiting = waiting;
        let over: Vec<(u64, Answer<()>)> = over;
        over.into_iter().map(|(_, answer)| answer).collect()
    }
}

/// The number of a transaction.
#[must_use = "a ticket that is never closed keeps readers waiting"]
pub(super) struct Ticket(u64);

/// Operations that are committed and not on disk yet.
#[must_use = "whoever waits for these is answered by `Disk::keep`"]
pub(super) struct Owed {
    ticket: Ticket,
    group: Vec<Box<dyn Operation>>,
}

impl Disk {
    /// A disk that is asked in this way.
    pub(super) fn new(
        sync: impl Fn() -> io::Result<()> + Send + Sync + 'static,
        done: impl Fn() + Send + Sync + 'static,
    ) -> Self {
        Self {
            sync: Box::new(sync),
            done: Box::new(done),
            open: AtomicUsize::new(0),
            is_awaited: AtomicBool::new(false),
            answered: AtomicUsize::new(0),
            tickets: Mutex::default(),
        }
    }

    /// A transaction begins, which can be seen before it is on disk.
    pub(super) fn ticket(&self) -> Ticket {
        let mut tickets = self.tickets();
        tickets.last += 1;
        let last = tickets.last;
        tickets.open.push(last);
        Ticket(last)
    }

    /// Resolves when all that can be seen by now is on disk.
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

    fn tickets(&self) -> MutexGuard<'_, Tickets> {
        self.tickets.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// These are committed; whoever has them will see to it that they are kept.
    pub(super) fn owe(&self, ticket: Ticket, group: Vec<Box<dyn Operation>>) -> Owed {
        if !group.is_empty() {
            self.open.fetch_add(1, SeqCst);
        }
        Owed { ticket, group }
    }

    /// Waits for the disk's word and answers them.
    pub(super) fn keep(&self, Owed { ticket: Ticket(ticket), group }: Owed) {
        if group.is_empty() {
            // Nobody was promised anything. What it wrote says nothing about what was written before.
            let over = self.tickets().close(|open| open == ticket);
            return tell(over, &Ok(()));
        }
        let kept = (self.sync)().map_err(|error| Error::Failed(format!("the disk did not keep it: {error}")));
        self.answered.store(group.len(), SeqCst);
        group.into_iter().for_each(|operation| operation.answer(kept.clone()));
        let over = self.tickets().close(|open| open <= ticket);
        tell(over, &kept);
        // Last: many of those who were answered come again meanwhile, and share the next commit.
        if self.open.fetch_sub(1, SeqCst) == 1 && self.is_awaited.swap(false, SeqCst) {
            (self.done)();
        }
    }

    /// Whether it is at work. If it is, `done` is called as soon as it is not.
    pub(super) fn is_busy(&self) -> bool {
        if self.open.load(SeqCst) == 0 {
            return false;
        }
        self.is_awaited.store(true, SeqCst);
        self.open.load(SeqCst) != 0
    }

    /// How many operations were answered at once the last time.
    pub(super) fn answered(&self) -> usize {
        self.answered.load(SeqCst)
    }
}

fn tell(over: Vec<Answer<()>>, kept: &Result<(), Error>) {
    for answer in over {
        // Whoever does not listen any more wanted no answer.
        let _ = answer.send(kept.clone());
    }
}

/// Asks the disk to keep a log. SQLite itself asks it when it begins a log anew, and around moving one into the
/// database.
pub(super) fn syncing(log: PathBuf) -> impl Fn() -> io::Result<()> {
    let file = OnceLock::new();
    move || {
        let file: &File = match file.get() {
            Some(file) => file,
            None => {
                let opened = File::open(&log)?;
                file.get_or_init(|| opened)
            }
        };
        file.sync_data()
    }
}

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
        OnceLock,
        atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
    },
};

use super::Operation;
use crate::Error;

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
}

/// Operations that are committed and not on disk yet.
#[must_use = "whoever waits for these is answered by `Disk::keep`"]
pub(super) struct Owed(Vec<Box<dyn Operation>>);

impl Owed {
    pub(super) fn nothing() -> Self {
        Self(Vec::new())
    }
}

impl Disk {
    /// A disk that is asked in this way.
    pub(super) fn new(
        sync: impl Fn() -> io::Result<()> + Send + Sync + 'static,
        done: impl Fn() + Send + Sync + 'static,
    ) -> Self {
        let (open, answered) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Self {
            sync: Box::new(sync),
            done: Box::new(done),
            open,
            is_awaited: AtomicBool::new(false),
            answered,
        }
    }

    /// The disk a log is on. Asked for the log alone: SQLite itself asks it when it begins a log anew, and around
    /// moving one into the database.
    pub(super) fn of(log: PathBuf, done: impl Fn() + Send + Sync + 'static) -> Self {
        let file = OnceLock::new();
        let sync = move || {
            let file: &File = match file.get() {
                Some(file) => file,
                None => {
                    let opened = File::open(&log)?;
                    file.get_or_init(|| opened)
                }
            };
            file.sync_data()
        };
        Self::new(sync, done)
    }

    /// These are committed; whoever has them will see to it that they are kept.
    pub(super) fn owe(&self, group: Vec<Box<dyn Operation>>) -> Owed {
        if !group.is_empty() {
            self.open.fetch_add(1, SeqCst);
        }
        Owed(group)
    }

    /// Waits for the disk's word and answers them.
    pub(super) fn keep(&self, Owed(group): Owed) {
        if group.is_empty() {
            return;
        }
        let kept = (self.sync)().map_err(|error| Error::Failed(format!("the disk did not keep it: {error}")));
        self.answered.store(group.len(), SeqCst);
        group.into_iter().for_each(|operation| operation.answer(kept.clone()));
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

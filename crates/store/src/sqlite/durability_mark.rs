//! The file `rooftree.db-mark` beside the database: how much was promised as durable, and the lock that shows who uses
//! the database.
//!
//! After each sync of the log the writer notes how many rows of each kind were on disk by then. The note is written
//! without a sync of its own, so it may be older than what is on disk, and never says more. If the database has less,
//! something that was promised is lost: a log that was cut, deleted or damaged, or a file that was put back.
//!
//! Every store holds a shared lock (`flock`) on this file. A process that gets the exclusive lock is alone, and may
//! read the files without SQLite.

use std::{
    fs::{File, OpenOptions, TryLockError},
    io,
    os::unix::fs::{FileExt, OpenOptionsExt},
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use rusqlite::Connection;
use sha2::{Digest, Sha256};

use crate::Error;

/// How long to wait for a process that looks at the files alone.
const PATIENCE: Duration = Duration::from_secs(30);

/// What is counted: rows that are only ever added.
const KINDS: [&str; 5] = ["sessions", "events", "messages", "blobs", "tasks"];

/// The highest number of each of [`KINDS`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RowCounts([i64; 5]);

impl RowCounts {
    /// What a database holds now.
    pub(crate) fn of(connection: &Connection) -> Result<Self, Error> {
        const SQL: &str = "SELECT coalesce((SELECT max(number) FROM session), 0), coalesce((SELECT max(id) FROM journal), 0),
             coalesce((SELECT max(id) FROM inbox), 0), coalesce((SELECT max(rowid) FROM blob), 0),
             coalesce((SELECT max(number) FROM task), 0)";
        Ok(Self(connection.prepare_cached(SQL)?.query_row(
            [],
            |row| {
                Ok([
                    row.get(0)?,
                    row.get(1)?,
                    row.get(2)?,
                    row.get(3)?,
                    row.get(4)?,
                ])
            },
        )?))
    }

    /// What of these `stored` does not have, in words.
    pub(crate) fn missing_from(self, stored: Self) -> Option<String> {
        let lost: Vec<String> = KINDS
            .iter()
            .zip(self.0.into_iter().zip(stored.0))
            .filter(|(_, (promised, stored))| promised > stored)
            .map(|(kind, (promised, stored))| format!("{stored} of {promised} {kind}"))
            .collect();
        (!lost.is_empty()).then(|| lost.join(", "))
    }

    fn is_empty(self) -> bool {
        self == Self::default()
    }
}

/// What the mark says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct MarkContent {
    pub(crate) counts: RowCounts,
    /// The disk refused to sync the log: it must be written anew before anything is promised by it.
    pub(crate) is_log_broken: bool,
}

impl MarkContent {
    /// In words, if something was stored at all.
    pub(crate) fn words(self) -> Option<String> {
        (!self.counts.is_empty()).then(|| {
            self.counts
                .missing_from(RowCounts::default())
                .unwrap_or_default()
        })
    }

    fn line(self) -> String {
        let numbers = self.counts.0.map(|count| count.to_string()).join(" ");
        let text = format!("rooftree-mark 1 {numbers} {}", u8::from(self.is_log_broken));
        // Always of the same length, so that a shorter line leaves nothing of a longer one.
        format!("{:<158}\n", format!("{text} {}", checksum(&text)))
    }

    fn parse(line: &str) -> Option<Self> {
        let (text, sum) = line.trim_end().rsplit_once(' ')?;
        let rest = text
            .strip_prefix("rooftree-mark 1 ")
            .filter(|_| checksum(text) == sum)?;
        let mut numbers = rest.split(' ').map(str::parse);
        let mut counts = RowCounts::default();
        for count in &mut counts.0 {
            *count = numbers.next()?.ok()?;
        }
        Some(Self {
            counts,
            is_log_broken: numbers.next()?.ok()? != 0,
        })
    }
}

fn checksum(text: &str) -> String {
    Sha256::digest(text)
        .iter()
        .take(8)
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// An open mark.
pub(crate) struct DurabilityMark(File);

impl DurabilityMark {
    /// Opens the mark of a database, and makes it if it is not there.
    pub(crate) fn open(database: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        let options = options
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600);
        options.open(path_of(database)).map(Self)
    }

    /// Opens the mark of a database only to read it.
    pub(crate) fn open_read_only(database: &Path) -> Option<Self> {
        File::open(path_of(database)).ok().map(Self)
    }

    /// Waits until no process holds the exclusive lock. Returns true if the caller has it exclusively now; else it
    /// holds the shared lock.
    pub(crate) fn lock(&self) -> Result<bool, Error> {
        let since = Instant::now();
        loop {
            if self.0.try_lock().is_ok() {
                return Ok(true);
            }
            match self.0.try_lock_shared() {
                Ok(()) => return Ok(false),
                Err(TryLockError::WouldBlock) if since.elapsed() < PATIENCE => {
                    thread::sleep(Duration::from_millis(1));
                }
                Err(error) => return Err(Error::Failed(format!("lock the database: {error}"))),
            }
        }
    }

    /// Tries to take the exclusive lock; true if no other process uses the database.
    pub(crate) fn is_alone(&self) -> bool {
        self.0.try_lock().is_ok()
    }

    /// Lets others in again.
    pub(crate) fn share(&self) -> Result<(), Error> {
        self.0
            .lock_shared()
            .map_err(|error| Error::Failed(format!("lock the database: {error}")))
    }

    /// Uses the database no longer.
    pub(crate) fn unlock(&self) {
        let _ = self.0.unlock();
    }

    /// What it says; nothing if it is empty or damaged.
    pub(crate) fn read(&self) -> MarkContent {
        self.written().unwrap_or_default()
    }

    /// What was noted; none if nothing was, or if it is damaged.
    pub(crate) fn written(&self) -> Option<MarkContent> {
        let mut bytes = [0; 159];
        let line = self
            .0
            .read_exact_at(&mut bytes, 0)
            .ok()
            .and_then(|()| str::from_utf8(&bytes).ok());
        line.and_then(MarkContent::parse)
    }

    /// Says something else. If that fails, it says less than it could, which is no harm.
    pub(crate) fn note(&self, noted: MarkContent) {
        let _ = self.0.write_all_at(noted.line().as_bytes(), 0);
    }

    /// Says something else, and returns once that is on disk.
    pub(crate) fn note_durably(&self, noted: MarkContent) -> io::Result<()> {
        self.0.write_all_at(noted.line().as_bytes(), 0)?;
        self.0.sync_all()
    }
}

/// Where the mark of a database lies.
pub(crate) fn path_of(database: &Path) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push("-mark");
    PathBuf::from(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_says_what_was_noted_and_nothing_once_it_is_damaged() {
        let directory = tempfile::TempDir::new().unwrap();
        let database = directory.path().join("rooftree.db");
        let mark = DurabilityMark::open(&database).unwrap();
        assert_eq!(mark.read(), MarkContent::default());
        for noted in [
            MarkContent {
                counts: RowCounts([5, 1_000_000, 3, 2, 1]),
                is_log_broken: true,
            },
            MarkContent {
                counts: RowCounts([1, 2, 3, 4, 5]),
                is_log_broken: false,
            },
        ] {
            mark.note(noted);
            assert_eq!(
                DurabilityMark::open_read_only(&database).unwrap().read(),
                noted
            );
        }
        mark.0.write_all_at(b"9", 17).unwrap();
        assert_eq!(mark.read(), MarkContent::default());
    }

    #[test]
    fn only_what_is_less_is_missing() {
        let (promised, stored) = (RowCounts([5, 40, 7, 0, 0]), RowCounts([4, 41, 6, 3, 0]));
        assert_eq!(
            promised.missing_from(stored).unwrap(),
            "4 of 5 sessions, 6 of 7 messages"
        );
        assert_eq!(promised.missing_from(promised), None);
    }
}

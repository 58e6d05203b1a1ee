//! Validates the files of a database before SQLite opens them, and refuses those that SQLite would silently truncate.
//!
//! SQLite takes an empty file for a new database and removes the log (WAL) beside it, ends a log at its first damaged
//! frame, and opens a file without the log it needs. Each of these is silent data loss. The first process to open a
//! database checks for them here; see `durability_mark.rs` for how much was promised.

use std::{
    fs::{self, File},
    io::{self, Read},
    path::Path,
};

use rusqlite::{Connection, OpenFlags};

use super::{
    connect,
    durability_mark::{DurabilityMark, MarkContent, RowCounts},
    wal_file::{WalFile, big},
};
use crate::Error;

/// A database that is being opened or in use.
pub(crate) struct DatabaseGuard {
    mark: Option<DurabilityMark>,
    was_alone: bool,
    /// Whether a log with something in it was there.
    had_log: bool,
    noted: MarkContent,
    /// Whether the mark of this database was there: a copy of the file alone has none.
    had_mark: bool,
    /// What is wrong with the log.
    damage: Option<String>,
}

impl DatabaseGuard {
    /// Enters to write: makes the directories, the mark, and an empty file if there is no database.
    pub(crate) fn open_for_write(path: &Path) -> Result<Self, Error> {
        connect::create_directory(path)?;
        let mark =
            DurabilityMark::open(path).map_err(|error| connect::not_created(path, &error))?;
        let gate = Self::enter(path, Some(mark))?;
        connect::create(path)?;
        Ok(gate)
    }

    /// Enters to read. Nothing is made or changed.
    pub(crate) fn open_for_read(path: &Path) -> Result<Self, Error> {
        Self::enter(path, DurabilityMark::open_read_only(path))
    }

    fn enter(path: &Path, mark: Option<DurabilityMark>) -> Result<Self, Error> {
        let was_alone = mark.as_ref().map_or(Ok(true), DurabilityMark::lock)?;
        let written = mark.as_ref().and_then(DurabilityMark::written);
        let (noted, had_mark) = (written.unwrap_or_default(), written.is_some());
        let mut gate = Self {
            mark,
            was_alone,
            had_log: true,
            noted,
            had_mark,
            damage: None,
        };
        // Others have looked already, and the files change under their hands.
        if was_alone {
            gate.inspect(path)?;
        }
        Ok(gate)
    }

    fn inspect(&mut self, path: &Path) -> Result<(), Error> {
        let name = |path: &Path| path.display().to_string();
        let failed = |error: io::Error| Error::Failed(format!("read {}: {error}", name(path)));
        let log_path = connect::log_of(path);
        if self.noted.is_log_broken {
            renew(&log_path).map_err(failed)?;
            self.noted.is_log_broken = false;
            self.note();
        }
        let log = WalFile::read(&log_path).map_err(failed)?;
        self.had_log = log.is_some();
        let length = fs::metadata(path).map_or(0, |file| file.len());
        if length == 0 {
            if log.is_some() {
                let what = format!("{} is empty or gone, and its log is not", name(path));
                return Err(Error::Damaged(format!(
                    "{what}: {} holds what is left",
                    name(&log_path)
                )));
            }
            if let Some(words) = self.noted.words().filter(|_| path.exists()) {
                return Err(Error::Damaged(format!(
                    "{} is empty: missing are {words}",
                    name(path)
                )));
            }
            // There is no database: a new one begins with nothing.
            self.noted = MarkContent::default();
            self.note();
            return Ok(());
        }
        if let Some((there, needed)) = truncation(path, length, log.as_ref()).map_err(failed)? {
            return Err(Error::Damaged(format!(
                "{} is cut off: it has {there} of {needed} pages",
                name(path)
            )));
        }
        self.damage = log.and_then(|log| damage(&log));
        Ok(())
    }

    /// What is missing from an open database, in words.
    pub(crate) fn missing(&self, connection: &Connection) -> Result<Vec<String>, Error> {
        let mut found = Vec::new();
        if let Some(words) = self.noted.counts.missing_from(RowCounts::of(connection)?) {
            found.push(format!("less is there than was stored: {words}"));
        }
        // With its mark beside it, a file without a log is what a kill left right after a checkpoint.
        if !self.had_log
            && !self.had_mark
            && connection
                .query_row("SELECT max(needed) FROM log_needed", [], |row| row.get(0))
                .unwrap_or(false)
        {
            found.push("the file was copied while it was in use, without its log (-wal): what the log had is missing".into());
        }
        Ok(found)
    }

    /// What is wrong with the log, if that has lost something, or if there is no mark to tell.
    pub(crate) fn log_damage(&self, is_something_missing: bool) -> Option<String> {
        self.damage
            .clone()
            .filter(|_| is_something_missing || self.noted == MarkContent::default())
    }

    /// Lets others in.
    pub(crate) fn share(&self) -> Result<(), Error> {
        self.mark.as_ref().map_or(Ok(()), DurabilityMark::share)
    }

    /// Whether no other process used the database when this was opened.
    pub(crate) fn was_alone(&self) -> bool {
        self.was_alone
    }

    /// Whether the log that was found, if any, may be moved into the database.
    pub(crate) fn has_sound_log(&self) -> bool {
        self.damage.is_none()
    }

    /// Writes down what is known; a mark that was opened to be read stays as it is.
    fn note(&self) {
        if let Some(mark) = &self.mark {
            mark.note(self.noted);
        }
    }

    /// The database file says from here on that it needs a log. The mark must be there before that.
    pub(crate) fn begin_use(&self) {
        if let Some(mark) = self.mark.as_ref().filter(|mark| mark.written().is_none()) {
            mark.note(MarkContent::default());
        }
    }

    /// So much is on disk.
    pub(crate) fn promised(&self, counts: RowCounts) {
        if let Some(mark) = &self.mark {
            mark.note(MarkContent {
                counts,
                is_log_broken: false,
            });
        }
    }

    /// A sync of the log failed.
    pub(crate) fn log_failed(&self) {
        if let Some(mark) = &self.mark {
            mark.note(MarkContent {
                is_log_broken: true,
                ..mark.read()
            });
        }
    }

    /// Writes the log anew after a failed sync. No other process may use the database then, because it has the old log
    /// open.
    pub(crate) fn rewrite_log(&self, path: &Path) -> Result<(), Error> {
        let Some(mark) = &self.mark else {
            return Ok(());
        };
        mark.unlock();
        if !mark.is_alone() {
            mark.share()?;
            return Err(Error::Failed(
                "the disk failed, and other processes use the same log: end them, then try again"
                    .into(),
            ));
        }
        renew(&connect::log_of(path))
            .map_err(|error| Error::Failed(format!("write the log anew: {error}")))?;
        mark.note(MarkContent {
            is_log_broken: false,
            ..mark.read()
        });
        Ok(())
    }

    /// Checkpoints a log that was left behind, if no other process uses the database.
    pub(crate) fn checkpoint_leftover(&self, path: &Path) {
        let is_left = fs::metadata(connect::log_of(path)).is_ok_and(|log| log.len() > 0);
        if is_left
            && self.has_sound_log()
            && self.mark.as_ref().is_some_and(DurabilityMark::is_alone)
        {
            checkpoint(path);
        }
        if let Some(mark) = &self.mark {
            mark.unlock();
        }
    }
}

/// Opens a connection of its own, checkpoints the log into the database as far as that blocks no other connection, and
/// closes it: the last one to close removes the log.
pub(crate) fn checkpoint(path: &Path) {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    if let Ok(connection) = Connection::open_with_flags(path, flags) {
        let _ =
            connection.execute_batch("PRAGMA synchronous = NORMAL; PRAGMA wal_checkpoint(PASSIVE)");
    }
}

/// Writes a log into a new file: a sync of the old one would not write what the kernel has given up.
fn renew(log: &Path) -> io::Result<()> {
    if !log.exists() {
        return Ok(());
    }
    let new = log.with_extension("db-wal-new");
    fs::copy(log, &new)?;
    File::open(&new)?.sync_all()?;
    fs::rename(&new, log)?;
    log.parent()
        .map_or(Ok(()), |directory| File::open(directory)?.sync_all())
}

/// How many pages a database has and needs, if it has too few.
fn truncation(path: &Path, length: u64, log: Option<&WalFile>) -> io::Result<Option<(u64, u64)>> {
    let mut header = [0; 100];
    if File::open(path)?.read_exact(&mut header).is_err()
        || !header.starts_with(b"SQLite format 3\0")
    {
        // SQLite says what it is.
        return Ok(None);
    }
    let page_size = match big(&header, 16) >> 16 {
        1 => 65_536,
        size => u64::from(size.max(512)),
    };
    let there = length / page_size;
    let valid = log.map_or(0, |log| log.valid);
    let logged = log.into_iter().flat_map(|log| log.first(valid));
    let (mut needed, mut pages) = (u64::from(big(&header, 28)), Vec::new());
    for frame in logged {
        pages.push(u64::from(frame.page));
        if frame.size != 0 {
            needed = u64::from(frame.size);
        }
    }
    // The number is only right if the last program to change the file has kept it.
    let is_kept = valid > 0 || big(&header, 24) == big(&header, 92);
    let is_missing = |page: u64| !pages.contains(&page);
    Ok((is_kept && (there + 1..=needed).any(is_missing)).then_some((there, needed)))
}

fn damage(log: &WalFile) -> Option<String> {
    let (frame, frames) = (log.damaged?, log.frames);
    Some(format!(
        "the log (-wal) is damaged at frame {frame} of {frames}: what follows it cannot be read"
    ))
}

//! Backup: copies a database to one file while others use it, and verifies the copy.
//!
//! The copy is the state at one moment: all pages are read in one read transaction, so that writers neither wait nor
//! make SQLite begin anew. It gets its name only after every invariant of `doctor verify` was found to hold.

use std::{path::Path, thread, time::Duration};

use rusqlite::{
    Connection, OpenFlags,
    backup::{Backup, StepResult},
};

use super::{
    connect, database_guard::DatabaseGuard, durability_mark::RowCounts, partial_file::PartialFile,
    verify,
};
use crate::{Error, failpoint, verify::VerifyReport};

/// Pages copied between two calls of the progress function: 8 MB.
const PAGES: i32 = 2_048;

/// How much of a copy is done, in bytes.
#[derive(Clone, Copy, Debug)]
pub struct CopyProgress {
    /// Copied so far.
    pub done: u64,
    /// To be copied.
    pub total: u64,
}

/// What a backup holds, or what was restored.
#[derive(Clone, Debug)]
pub struct BackupReport {
    /// Size of the file.
    pub bytes: u64,
    /// What was counted and checked in the copy.
    pub verified: VerifyReport,
}

/// Copies the database at `from` to a new file at `to`, blobs included. Nothing that is there already is replaced.
pub fn backup(
    from: &Path,
    to: &Path,
    progress: &mut dyn FnMut(CopyProgress),
) -> Result<BackupReport, Error> {
    if to.symlink_metadata().is_ok() {
        return Err(Error::Failed(format!("{} is there already", to.display())));
    }
    let gate = DatabaseGuard::open_for_read(from)?;
    let source = connect::reader(from)?;
    let missing = gate.missing(&source)?;
    if !missing.is_empty() {
        let what = missing.join("; ");
        return Err(Error::Damaged(format!("{}: {what}", from.display())));
    }
    gate.share()?;
    let partial = PartialFile::create(to)?;
    let counts = copy_pages(&source, partial.path(), progress)?;
    drop(source);
    gate.checkpoint_leftover(from);
    failpoint::reach("backup.copied");
    let report = verified(partial.path())?;
    let copied = RowCounts::of(&connect::immutable(partial.path())?)?;
    if let Some(words) = counts.missing_from(copied) {
        return Err(Error::Damaged(format!("the copy is not whole: {words}")));
    }
    failpoint::reach("backup.verified");
    partial.place_new(to)?;
    Ok(report)
}

/// Copies all pages as they are at this moment; gives the number of rows at that moment.
fn copy_pages(
    source: &Connection,
    to: &Path,
    progress: &mut dyn FnMut(CopyProgress),
) -> Result<RowCounts, Error> {
    // Without an open transaction SQLite begins anew whenever another process has written.
    let moment = source.unchecked_transaction()?;
    let counts = RowCounts::of(&moment)?;
    let size: u32 = moment.query_row("PRAGMA page_size", [], |row| row.get(0))?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut target = Connection::open_with_flags(to, flags)?;
    // A copy that is not whole is thrown away; the whole one is synced before it gets its name.
    target.execute_batch("PRAGMA synchronous = OFF; PRAGMA journal_mode = OFF")?;
    let copying = Backup::new(&moment, &mut target)?;
    loop {
        match copying.step(PAGES)? {
            StepResult::Done => break,
            StepResult::More => {}
            _ => thread::sleep(Duration::from_millis(5)),
        }
        let (total, left) = (copying.progress().pagecount, copying.progress().remaining);
        let bytes = |pages: i32| u64::try_from(pages).unwrap_or_default() * u64::from(size);
        progress(CopyProgress {
            done: bytes(total - left),
            total: bytes(total),
        });
        failpoint::reach("backup.copying");
    }
    drop(copying);
    target.close().map_err(|(_, error)| error)?;
    Ok(counts)
}

/// Holds a file that no process changes to every invariant of `doctor verify`.
pub(super) fn verified(path: &Path) -> Result<BackupReport, Error> {
    let report = verify::verify(&connect::immutable(path)?, Vec::new())?;
    if let Some(first) = report.violations.first() {
        let (count, what) = (report.violations.len(), &first.what);
        let (invariant, place) = (&first.invariant, &first.place);
        return Err(Error::Damaged(format!(
            "{count} of its invariants do not hold, the first is {invariant} at {place}: {what}"
        )));
    }
    let bytes = path.metadata().map_or(0, |file| file.len());
    Ok(BackupReport {
        bytes,
        verified: report,
    })
}

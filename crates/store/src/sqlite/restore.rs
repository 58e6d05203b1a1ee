//! Restore: verifies a copy of a backup, then puts it in the place of the database, which is kept aside.
//!
//! Invariant: at every moment the place holds the old database or the new one, whole. The new one is copied, brought up
//! to date and verified under another name; then it is renamed, while no process uses the database.

use std::{
    fs::{self, File},
    io::{self, Read, Write},
    path::{Path, PathBuf},
};

use super::{
    audit,
    backup::{BackupReport, CopyProgress, verified},
    connect, database_guard,
    durability_mark::{DurabilityMark, MarkContent, RowCounts},
    outbox,
    partial_file::{self, PartialFile},
    schema,
    wal_file::WalFile,
};
use crate::{AuditEntry, Error, failpoint};

/// Bytes copied between two calls of the progress function.
const CHUNK: usize = 8 * 1024 * 1024;

/// What is to be put where.
#[derive(Clone, Debug)]
pub struct RestoreRequest {
    /// The backup.
    pub from: PathBuf,
    /// The database.
    pub database: PathBuf,
    /// Where the database goes that is there now.
    pub aside: PathBuf,
    /// Written into the new database.
    pub audit: AuditEntry,
}

/// Replaces a database by a backup. Refused while a process uses the database.
pub fn restore(
    request: &RestoreRequest,
    progress: &mut dyn FnMut(CopyProgress),
) -> Result<BackupReport, Error> {
    let (from, database) = (&request.from, &request.database);
    check_backup(from, database)?;
    connect::create_directory(database)?;
    // Refused before anything is copied; the lock is taken again for the last step only, so that others wait little.
    alone(database)?.unlock();
    let partial = PartialFile::create(database)?;
    copy_bytes(from, partial.file(), progress)
        .map_err(|error| connect::not_created(partial.path(), &error))?;
    failpoint::reach("restore.copied");
    prepare(partial.path(), &request.audit)?;
    let report = verified(partial.path())?;
    failpoint::reach("restore.verified");
    put_in_place(partial, request)?;
    Ok(report)
}

/// Refuses what is no backup before anything is copied.
fn check_backup(from: &Path, database: &Path) -> Result<(), Error> {
    let refused = |what: &str| Err(Error::Failed(format!("{} {what}", from.display())));
    let mut magic = [0; 16];
    let read = File::open(from).and_then(|mut file| file.read_exact(&mut magic));
    match read {
        Err(error) if error.kind() != io::ErrorKind::UnexpectedEof => {
            return refused(&format!("cannot be read: {error}"));
        }
        Ok(()) if magic == *b"SQLite format 3\0" => {}
        _ => return refused("is not a rooftree database"),
    }
    if let (Ok(from), Ok(database)) = (from.canonicalize(), database.canonicalize())
        && from == database
    {
        return refused("is the database itself");
    }
    if fs::metadata(connect::log_of(from)).is_ok_and(|log| log.len() > 0) {
        return refused("has a log (-wal) beside it: it is a database in use, not a backup");
    }
    Ok(())
}

/// Takes the lock that only a process has that uses the database alone.
fn alone(database: &Path) -> Result<DurabilityMark, Error> {
    let mark =
        DurabilityMark::open(database).map_err(|error| connect::not_created(database, &error))?;
    if !mark.is_alone() {
        let what = "another rooftree process uses it";
        return Err(Error::InUse(format!("{}: {what}", database.display())));
    }
    Ok(mark)
}

fn copy_bytes(
    from: &Path,
    mut to: &File,
    progress: &mut dyn FnMut(CopyProgress),
) -> io::Result<()> {
    let mut source = File::open(from)?;
    let (mut done, total) = (0, source.metadata()?.len());
    let mut buffer = vec![0; CHUNK];
    loop {
        let read = source.read(&mut buffer)?;
        if read == 0 {
            return Ok(());
        }
        to.write_all(buffer.get(..read).unwrap_or_default())?;
        done += read as u64;
        progress(CopyProgress { done, total });
        failpoint::reach("restore.copying");
    }
}

/// Brings the copy up to date, ends the claims of processes that worked when the backup was made, and holds back what
/// was to be sent to chats then.
fn prepare(path: &Path, entry: &AuditEntry) -> Result<(), Error> {
    let version = schema::version(&connect::immutable(path)?)?;
    schema::refuse_newer(version)?;
    if version == 0 {
        return Err(Error::Failed("it is not a rooftree database".into()));
    }
    let connection = connect::writer(path)?;
    connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
    let change = connection.unchecked_transaction()?;
    change.execute_batch(
        "UPDATE session SET token = NULL, lease = NULL, owner_host = NULL, owner_boot = NULL, owner_pid = NULL,
             owner_started = NULL WHERE token IS NOT NULL;
         UPDATE log_needed SET needed = 0;",
    )?;
    outbox::hold_open(&change, entry.at)?;
    audit::add(&change, entry)?;
    change.commit()?;
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
    connection.close().map_err(|(_, error)| error)?;
    Ok(())
}

/// Exchanges the files while no process uses them.
fn put_in_place(partial: PartialFile, request: &RestoreRequest) -> Result<(), Error> {
    let (database, aside) = (&request.database, &request.aside);
    let counts = RowCounts::of(&connect::immutable(partial.path())?)?;
    let mark = alone(database)?;
    keep_aside(database, aside, &mark)
        .map_err(|error| Error::Failed(format!("keep {}: {error}", aside.display())))?;
    failpoint::reach("restore.kept");
    // From here on the mark promises nothing, so that either database can be opened.
    mark.note_durably(MarkContent::default())
        .map_err(|error| connect::not_created(database, &error))?;
    failpoint::reach("restore.noted");
    // A log that is left here is one that could not be moved into the old database; it is kept aside.
    partial_file::remove_beside(database);
    partial.replace(database)?;
    failpoint::reach("restore.placed");
    mark.note(MarkContent {
        counts,
        is_log_broken: false,
    });
    mark.unlock();
    Ok(())
}

/// Gives the old database a second name. Its log is moved into it first; a damaged log is kept beside it.
fn keep_aside(database: &Path, aside: &Path, mark: &DurabilityMark) -> io::Result<()> {
    if aside.symlink_metadata().is_ok() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    let log_path = connect::log_of(database);
    let is_sound = !mark.read().is_log_broken
        && WalFile::read(&log_path)?.is_none_or(|log| log.damaged.is_none());
    if is_sound && fs::metadata(database).is_ok_and(|file| file.len() > 0) {
        database_guard::checkpoint(database);
        // Only a damaged log is taken away from the old database, which nothing opens then anyway.
        if fs::metadata(&log_path).is_ok_and(|log| log.len() > 0) {
            return Err(io::Error::other("its log could not be moved into it"));
        }
    }
    for (old, kept) in [
        (database.to_owned(), aside.to_owned()),
        (log_path, connect::log_of(aside)),
    ] {
        if old.exists() && fs::hard_link(&old, &kept).is_err() {
            fs::copy(&old, &kept)?;
            File::open(&kept)?.sync_all()?;
        }
    }
    partial_file::sync_directory(aside)
}

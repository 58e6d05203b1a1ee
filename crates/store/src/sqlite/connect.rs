//! Opens SQLite connections: file location, permissions, pragmas.

use std::{
    fs::{self, DirBuilder, OpenOptions},
    io,
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant, SystemTime},
};

use nix::sys::statfs::{CODA_SUPER_MAGIC, FsType, NFS_SUPER_MAGIC, SMB_SUPER_MAGIC, statfs};
use rusqlite::{Connection, MAIN_DB, OpenFlags};

use super::{errors::is_busy, schema};
use crate::{Error, failpoint};

/// File systems of other machines, where SQLite's locks cannot be trusted. The last two are
/// CIFS and SMB2, which the kernel tells apart from the old SMB.
const FAR_AWAY: [FsType; 5] = [
    NFS_SUPER_MAGIC,
    SMB_SUPER_MAGIC,
    CODA_SUPER_MAGIC,
    FsType(0xFF53_4D42),
    FsType(0xFE53_4D42),
];

/// How often SQLite asks a busy database again before it gives up: for about 25 seconds.
const TRIES: i32 = 10_000;

/// For how long what SQLite gave up is tried again.
const PATIENCE: Duration = Duration::from_secs(30);

/// Kilobytes of pages the writer remembers. Taken only as they are used; ten thousand sessions at
/// work do not fit into the two megabytes SQLite has by itself.
const CACHE: u32 = 8 * 1024;

/// The connection of the writer; makes the file and its tables if they are not there.
pub(crate) fn writer(path: &Path) -> Result<Connection, Error> {
    create(path)?;
    refuse_network(path)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let (mut connection, version) = retry_while_busy(|| {
        let connection = Connection::open_with_flags(path, flags)?;
        connection.busy_handler(Some(busy_backoff))?;
        connection.execute_batch(&format!(
            "PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA journal_size_limit = 16777216;
             PRAGMA cache_size = -{CACHE};"
        ))?;
        schema::version(&connection).map(|version| (connection, version))
    })?;
    schema::refuse_newer(version)?;
    // SQLite opens what it cannot write all the same, if a log is there already.
    if connection.is_readonly(MAIN_DB)? {
        return Err(Error::Failed(format!(
            "{} cannot be written",
            path.display()
        )));
    }
    // A database that has our version has its journal mode and its tables already.
    if version < schema::VERSION {
        retry_while_busy(|| {
            connection.query_row("PRAGMA journal_mode = WAL", [], |row| {
                row.get::<_, String>(0)
            })
        })?;
        schema::migrate(&mut connection)?;
    }
    if let Some(room) = failpoint::room() {
        let used: i64 = connection.query_row("PRAGMA page_count", [], |row| row.get(0))?;
        connection.query_row(
            &format!("PRAGMA max_page_count = {}", used + room),
            [],
            |_| Ok(()),
        )?;
    }
    connection.set_prepared_statement_cache_capacity(64);
    Ok(connection)
}

/// A connection that can only read. Works on a file and in a directory that are read-only.
pub(crate) fn reader(path: &Path) -> Result<Connection, Error> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let plain = retry_while_busy(|| {
        let connection = Connection::open_with_flags(path, flags)?;
        settle(&connection).map(|version| (connection, version))
    });
    let (connection, version) = match plain {
        Ok(opened) => opened,
        // A write-ahead log needs a writable index beside it; without a log there is nothing
        // to index and the file can be read as it is.
        Err(_) if path.exists() && !log_of(path).exists() => {
            let connection = immutable(path)?;
            let version = settle(&connection)?;
            (connection, version)
        }
        Err(error) => return Err(error),
    };
    schema::refuse_newer(version)?;
    match version {
        schema::VERSION => Ok(connection),
        0 => Err(Error::Failed(format!(
            "{} is not a rooftree database",
            path.display()
        ))),
        older => Err(Error::Older(older, schema::VERSION)),
    }
}

/// A connection to a file that no process changes. SQLite puts nothing beside it and reads no log.
pub(crate) fn immutable(path: &Path) -> Result<Connection, Error> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_URI;
    Ok(Connection::open_with_flags(immutable_uri(path), flags)?)
}

fn settle(connection: &Connection) -> Result<i64, rusqlite::Error> {
    connection.busy_handler(Some(busy_backoff))?;
    connection.execute_batch("PRAGMA query_only = ON;")?;
    schema::version(connection)
}

/// The write-ahead log of a database.
pub(crate) fn log_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push("-wal");
    PathBuf::from(name)
}

/// The file as an `immutable=1` URI, which promises SQLite that no process changes it.
fn immutable_uri(path: &Path) -> String {
    let escaped: String = path
        .to_string_lossy()
        .chars()
        .map(|letter| match letter {
            '%' | '?' | '#' => format!("%{:02X}", u32::from(letter)),
            plain => plain.to_string(),
        })
        .collect();
    format!("file:{escaped}?immutable=1")
}

/// Repeats what failed because others were at it, within bounds. SQLite by itself does not
/// wait where two could wait for each other.
pub(crate) fn retry_while_busy<T>(
    mut attempt: impl FnMut() -> Result<T, rusqlite::Error>,
) -> Result<T, Error> {
    let mut since = None;
    loop {
        match attempt() {
            Err(error)
                if is_busy(&error)
                    && since.get_or_insert_with(Instant::now).elapsed() < PATIENCE =>
            {
                busy_backoff(0);
            }
            other => return Ok(other?),
        }
    }
}

/// Waits one to four milliseconds, by chance, so that twenty processes take turns.
fn busy_backoff(tries: i32) -> bool {
    let chance = SystemTime::UNIX_EPOCH
        .elapsed()
        .map_or(0, |now| u64::from(now.subsec_nanos()) % 3_000);
    thread::sleep(Duration::from_micros(1_000 + chance));
    tries < TRIES
}

/// Why a file could not be made.
pub(crate) fn not_created(path: &Path, error: &io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            Error::Full(format!("{}: {error}", path.display()))
        }
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            Error::Unwritable(format!("{}: {error}", path.display()))
        }
        _ => Error::Failed(format!("create {}: {error}", path.display())),
    }
}

/// Makes the directories above a database, for their owner's eyes only.
pub(crate) fn create_directory(path: &Path) -> Result<(), Error> {
    match path
        .parent()
        .filter(|directory| !directory.as_os_str().is_empty() && !directory.exists())
    {
        Some(directory) => {
            let made = DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(directory);
            made.map_err(|error| not_created(path, &error))
        }
        None => Ok(()),
    }
}

/// Makes the file and the directories above it, for their owner's eyes only.
pub(crate) fn create(path: &Path) -> Result<(), Error> {
    if path.exists() {
        return Ok(());
    }
    create_directory(path)?;
    match OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
    {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            Err(not_created(path, &error))
        }
        _ => Ok(()),
    }
}

fn refuse_network(path: &Path) -> Result<(), Error> {
    let place = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    match statfs(&place) {
        Ok(system) if FAR_AWAY.contains(&system.filesystem_type()) => Err(Error::Failed(format!(
            "{} lies on a network file system, where two machines could write at once: put the database on a local disk",
            path.display()
        ))),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use nix::sys::statfs::{EXT4_SUPER_MAGIC, TMPFS_MAGIC};

    use super::*;

    #[test]
    fn only_file_systems_of_other_machines_are_far_away() {
        for (system, far) in [
            (NFS_SUPER_MAGIC, true),
            (FsType(0xFF53_4D42), true),
            (EXT4_SUPER_MAGIC, false),
            (TMPFS_MAGIC, false),
        ] {
            assert_eq!(FAR_AWAY.contains(&system), far, "{system:?}");
        }
    }

    #[test]
    fn what_is_not_busy_is_not_tried_again() {
        let mut tries = 0;
        let answer: Result<(), Error> = retry_while_busy(|| {
            tries += 1;
            Err(rusqlite::Error::InvalidQuery)
        });
        assert!(answer.is_err());
        assert_eq!(tries, 1);
    }
}

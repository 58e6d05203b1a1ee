//! A private JSON file (mode 0600): replaced atomically, and locked so that one process at a time changes it.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, ErrorKind},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt},
    path::Path,
};

use rooftree_stdx::atomic_file;
use serde::{Serialize, de::DeserializeOwned};

/// Keeps other programs from changing the file until it is dropped.
pub(super) struct PrivateFileLock(File);

/// Locks the file; waits until no other process holds the lock.
pub(super) fn lock_file(path: &Path) -> io::Result<PrivateFileLock> {
    let directory = path.parent().unwrap_or(Path::new("."));
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory)?;
    let beside = path.with_extension("lock");
    let file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .mode(0o600)
        .open(beside)?;
    file.lock()?;
    Ok(PrivateFileLock(file))
}

impl Drop for PrivateFileLock {
    fn drop(&mut self) {
        // Closing it would do the same.
        let _ = self.0.unlock();
    }
}

/// Parses the file; the default value if it does not exist. An unreadable file is an error, not the default.
pub(super) fn read<T: DeserializeOwned + Default>(path: &Path) -> io::Result<T> {
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(T::default()),
        Err(error) => return Err(error),
    };
    let mode = fs::metadata(path)?.permissions().mode();
    if mode & 0o077 != 0 {
        let words = format!(
            "others may read or change it (mode {:03o}); chmod 600 it",
            mode & 0o777
        );
        return Err(io::Error::new(ErrorKind::PermissionDenied, words));
    }
    // What the parser says could repeat what is in the file.
    serde_json::from_slice(&bytes)
        .map_err(|_| io::Error::new(ErrorKind::InvalidData, "it is damaged"))
}

/// Replaces what is in the file.
pub(super) fn replace<T: Serialize>(path: &Path, content: &T) -> io::Result<()> {
    let text = serde_json::to_string_pretty(content)?;
    atomic_file::replace_private(path, text.as_bytes())
}

//! Lock on a repository, also between processes: git's own locks fail instead of waiting.

use std::{
    fs::{self, File, TryLockError},
    path::Path,
    time::Duration,
};

use rooftree_protocol::Problem;

use super::errors;

/// Poll interval while waiting for the lock.
const PAUSE: Duration = Duration::from_millis(3);

/// Our turn; it ends when this is dropped, or when this process dies.
#[derive(Debug)]
pub(super) struct RepositoryLock {
    _file: File,
}

impl RepositoryLock {
    /// Waits for our turn at what belongs to this directory.
    pub async fn at(directory: &Path) -> Result<Self, Problem> {
        let path = directory.join("turn");
        let open = || {
            fs::create_dir_all(directory)?;
            File::options().create(true).append(true).open(&path)
        };
        let file = open().map_err(errors::at("open", &path))?;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Self { _file: file }),
                Err(TryLockError::WouldBlock) => tokio::time::sleep(PAUSE).await,
                Err(TryLockError::Error(error)) => return Err(errors::at("lock", &path)(error)),
            }
        }
    }
}

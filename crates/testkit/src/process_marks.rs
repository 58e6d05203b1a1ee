//! Detects living processes by files they keep locked: works across sandboxes, where process ids do not.

use std::{
    fs::{self, File, TryLockError},
    path::{Path, PathBuf},
    time::Duration,
};

/// The mark files that processes have created in a directory.
pub fn list_marks(directory: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(directory)
        .expect("the directory is there")
        .flatten()
        .map(|entry| entry.path());
    files
        .filter(|path| path.extension().is_some_and(|end| end == "mark"))
        .collect()
}

/// Whether the process that created this mark is alive.
pub fn is_alive(mark: &Path) -> bool {
    let file = File::open(mark).expect("a mark stays");
    matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock))
}

/// How many processes with marks in a directory are alive.
pub fn count_alive(directory: &Path) -> usize {
    list_marks(directory)
        .iter()
        .filter(|mark| is_alive(mark))
        .count()
}

/// Waits until no process with a mark in a directory is alive.
pub async fn wait_until_dead(directory: &Path) {
    while count_alive(directory) > 0 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

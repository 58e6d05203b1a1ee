//! Who lives, told by files that processes keep locked: that holds across sandboxes, where numbers do not.

use std::{
    fs::{self, File, TryLockError},
    path::{Path, PathBuf},
    time::Duration,
};

/// The marks that processes have left in a directory.
pub fn list_marks(directory: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(directory)
        .expect("the directory is there")
        .flatten()
        .map(|entry| entry.path());
    files
        .filter(|path| path.extension().is_some_and(|end| end == "mark"))
        .collect()
}

/// Whether the process that left this mark lives.
pub fn is_alive(mark: &Path) -> bool {
    let file = File::open(mark).expect("a mark stays");
    matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock))
}

/// How many of those that left marks in a directory live.
pub fn count_alive(directory: &Path) -> usize {
    list_marks(directory)
        .iter()
        .filter(|mark| is_alive(mark))
        .count()
}

/// Waits until none of those lives that left marks in a directory.
pub async fn wait_until_dead(directory: &Path) {
    while count_alive(directory) > 0 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

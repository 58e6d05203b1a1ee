//! Identity of a path on disk (device and inode number), to notice that it is another file than before.

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use rustix::fs::{FileType, Stat, lstat, stat};

/// Which file a path is, and which one a link there leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PathIdentity {
    own: Option<(u64, u64)>,
    target: Option<(u64, u64)>,
}

impl PathIdentity {
    pub(super) fn of(path: &Path) -> Self {
        let which = |found: &Stat| (found.st_dev, found.st_ino);
        let own = lstat(path).ok();
        let is_link = |found: &Stat| FileType::from_raw_mode(found.st_mode) == FileType::Symlink;
        let target = own
            .as_ref()
            .filter(|found| is_link(found))
            .and_then(|_| stat(path).ok());
        Self {
            own: own.as_ref().map(which),
            target: target.as_ref().map(which),
        }
    }
}

/// Times of changes are no finer than this: a directory that changed so shortly ago may change again unnoticed.
const RESOLUTION: Duration = Duration::from_millis(100);

/// A directory, and when an entry of it was last added or removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DirectoryVersion {
    path: PathBuf,
    identity: PathIdentity,
    changed: Option<SystemTime>,
    /// Whether a further change would be noticed.
    is_settled: bool,
}

impl DirectoryVersion {
    pub(super) fn of(path: &Path) -> Self {
        let changed = fs::metadata(path).and_then(|found| found.modified()).ok();
        let is_old = |changed: SystemTime| changed.elapsed().is_ok_and(|age| age > RESOLUTION);
        Self {
            path: path.to_owned(),
            identity: PathIdentity::of(path),
            changed,
            is_settled: changed.is_some_and(is_old),
        }
    }

    /// Whether it is the same, with the same entries.
    pub(super) fn is_current(&self) -> bool {
        self.is_settled && Self::of(&self.path) == *self
    }
}

//! Normalizes paths lexically (`.` and `..`), without access to the file system.

use std::path::{Component, Path, PathBuf};

/// A path without `.` and `..`, as written: links are not followed.
pub(crate) fn normalize_lexically(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            other => plain.push(other),
        }
    }
    plain
}

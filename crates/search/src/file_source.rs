//! File access of a search: functions of the caller that walk, open and show files.

use std::{fs::File, io, path::Path};

use ignore::WalkBuilder;

/// How a search gets at files: rules about links and ignored files are the caller's.
#[derive(Clone, Copy)]
pub struct FileSource {
    /// A walk over the files of a root.
    pub walk: fn(&Path) -> WalkBuilder,
    /// Opens a file that a walk has found. It may have become something else since.
    pub open: fn(&Path) -> io::Result<File>,
    /// A path as results show it, relative to a working directory.
    pub shown: fn(&Path, &Path) -> String,
}

#[cfg(test)]
impl FileSource {
    /// Files as they are.
    pub(crate) const PLAIN: Self = Self {
        walk: |root| WalkBuilder::new(root),
        open: |path| File::open(path),
        shown: |path, _| path.display().to_string(),
    };
}

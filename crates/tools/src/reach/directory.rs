//! An open directory handle: operations stay in it, whatever happens to its name.

use std::{
    ffi::{OsStr, OsString},
    io,
    os::{
        fd::OwnedFd,
        unix::ffi::{OsStrExt, OsStringExt},
    },
    path::{Path, PathBuf},
};

use rustix::{
    fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat, mkdirat, readlinkat, statat},
    io::Errno,
};

use super::nofollow_open::{ENTER, open, step};

/// A directory that was opened without following a link.
#[derive(Debug)]
pub(crate) struct OpenDirectory(pub(super) OwnedFd);

impl OpenDirectory {
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self(open(path, ENTER)?))
    }

    /// Opens a directory, and makes it and those above it if they are missing.
    pub fn make(path: &Path) -> io::Result<Self> {
        let (parent, name) = match (open(path, ENTER), path.parent(), path.file_name()) {
            (Err(Errno::NOENT), Some(parent), Some(name)) => (parent, name),
            (opened, ..) => return Ok(Self(opened?)),
        };
        // Not deeper than a path the kernel takes has parts: a longer one fails above.
        let parent = Self::make(parent)?;
        match mkdirat(&parent.0, name, Mode::from_raw_mode(0o777)) {
            Ok(()) | Err(Errno::EXIST) => Ok(Self(step(&parent.0, name, ENTER)?)),
            Err(error) => Err(error.into()),
        }
    }

    /// The names in it, in no order.
    pub fn names(&self) -> io::Result<impl Iterator<Item = OsString> + use<>> {
        // Opened anew: this one is good for going through, not for reading.
        let listed = step(&self.0, OsStr::new("."), OFlags::RDONLY | OFlags::DIRECTORY)?;
        let entries = Dir::new(listed)?.filter_map(Result::ok);
        let names = entries.map(|entry| OsString::from_vec(entry.file_name().to_bytes().to_vec()));
        Ok(names.filter(|name| name.as_bytes() != b"." && name.as_bytes() != b".."))
    }

    /// What has this name; a link itself, not its target.
    pub fn stat(&self, name: &OsStr) -> io::Result<Stat> {
        Ok(statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW)?)
    }

    /// What a link says it leads to.
    pub fn link(&self, name: &OsStr) -> Option<PathBuf> {
        let target = readlinkat(&self.0, name, Vec::new()).ok()?;
        Some(PathBuf::from(OsString::from_vec(target.into_bytes())))
    }
}

/// Whether this is a directory.
pub(crate) fn is_directory(found: &Stat) -> bool {
    FileType::from_raw_mode(found.st_mode) == FileType::Directory
}

/// Looks at files found by a walk. Those of one directory come together, so it is opened once.
#[derive(Default)]
pub(crate) struct DirectoryStatCache {
    last: Option<(PathBuf, Option<OpenDirectory>)>,
}

impl DirectoryStatCache {
    /// What is at a path; nothing if a link is on the way by now.
    pub fn stat(&mut self, path: &Path) -> Option<Stat> {
        let (parent, name) = (path.parent()?, path.file_name()?);
        if self.last.as_ref().is_none_or(|(known, _)| known != parent) {
            self.last = Some((parent.to_owned(), OpenDirectory::open(parent).ok()));
        }
        self.last.as_ref()?.1.as_ref()?.stat(name).ok()
    }
}

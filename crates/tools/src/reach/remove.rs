//! Deletes from a directory that is already open, without following a link.

use std::{
    ffi::OsStr,
    io,
    path::{Path, PathBuf},
};

use rustix::{
    fs::{AtFlags, unlinkat},
    io::Errno,
};

use super::{
    CallReach,
    directory::{OpenDirectory, is_directory},
    nofollow_open::{ENTER, step},
};

/// Maximum depth of a tree: each level keeps a directory open.
const DEPTH: usize = 200;

impl OpenDirectory {
    /// Deletes a file, a link or an empty directory.
    pub fn remove(&self, name: &OsStr) -> io::Result<()> {
        match unlinkat(&self.0, name, AtFlags::empty()) {
            Err(Errno::ISDIR) => Ok(unlinkat(&self.0, name, AtFlags::REMOVEDIR)?),
            removed => Ok(removed?),
        }
    }

    /// Deletes whatever has this name, with all that is in it.
    pub fn remove_all(&self, name: &OsStr) -> io::Result<()> {
        self.remove_below(name, DEPTH)
    }

    fn remove_below(&self, name: &OsStr, depth: usize) -> io::Result<()> {
        if !is_directory(&self.stat(name)?) {
            return self.remove(name);
        }
        let inner = self.enter(name, depth)?;
        for entry in inner.names()? {
            match inner.remove_below(&entry, depth - 1) {
                // Another process has already removed it.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                removed => removed?,
            }
        }
        Ok(unlinkat(&self.0, name, AtFlags::REMOVEDIR)?)
    }

    /// The first entry below a name that a rule keeps from being deleted.
    pub fn kept_below(
        &self,
        name: &OsStr,
        path: &Path,
        reach: &CallReach,
    ) -> io::Result<Option<PathBuf>> {
        self.kept(name, path, reach, DEPTH)
    }

    fn kept(
        &self,
        name: &OsStr,
        path: &Path,
        reach: &CallReach,
        depth: usize,
    ) -> io::Result<Option<PathBuf>> {
        if !reach.admits_entry(path) {
            return Ok(Some(path.to_owned()));
        }
        if !is_directory(&self.stat(name)?) {
            return Ok(None);
        }
        let inner = self.enter(name, depth)?;
        for entry in inner.names()? {
            if let Some(kept) = inner.kept(&entry, &path.join(&entry), reach, depth - 1)? {
                return Ok(Some(kept));
            }
        }
        Ok(None)
    }

    fn enter(&self, name: &OsStr, depth: usize) -> io::Result<OpenDirectory> {
        if depth == 0 {
            return Err(io::Error::other(
                "the directories in it are too deep; a Bash command can delete them",
            ));
        }
        Ok(OpenDirectory(step(&self.0, name, ENTER)?))
    }
}

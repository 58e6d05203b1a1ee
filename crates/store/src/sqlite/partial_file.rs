//! A partial file: a database copy that is still being written, beside the place it will get.
//!
//! It is locked (`flock`) by the process that writes it. One that a killed process left is written anew.

use std::{
    ffi::OsString,
    fs::{self, File, OpenOptions},
    io,
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use nix::fcntl::{AT_FDCWD, RenameFlags, renameat2};

use super::connect;
use crate::Error;

/// What SQLite may put beside a database.
const BESIDE: [&str; 3] = ["-wal", "-shm", "-journal"];

/// A file that is removed when dropped, unless it got its final name.
pub(crate) struct PartialFile {
    path: PathBuf,
    file: File,
    is_placed: bool,
}

impl PartialFile {
    /// Makes an empty file in the directory of `place`, for its owner's eyes only.
    pub(crate) fn create(place: &Path) -> Result<Self, Error> {
        let name = place.file_name().unwrap_or_default();
        let mut hidden = OsString::from(".");
        hidden.push(name);
        hidden.push(".partial");
        let path = place.with_file_name(hidden);
        loop {
            let file = open(&path).map_err(|error| connect::not_created(&path, &error))?;
            if file.try_lock().is_err() {
                let what = "another process writes it";
                return Err(Error::InUse(format!("{}: {what}", path.display())));
            }
            // Its writer may have given it its final name, or removed it, before the lock was taken.
            if is_at(&file, &path) {
                file.set_len(0)
                    .map_err(|error| connect::not_created(&path, &error))?;
                remove_beside(&path);
                return Ok(Self {
                    path,
                    file,
                    is_placed: false,
                });
            }
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// Gives it its final name once all of it is on disk; what is there already stays, and is an error.
    pub(crate) fn place_new(self, place: &Path) -> Result<(), Error> {
        self.place(place, RenameFlags::RENAME_NOREPLACE)
    }

    /// Gives it its final name once all of it is on disk; what was there is replaced.
    pub(crate) fn replace(self, place: &Path) -> Result<(), Error> {
        self.place(place, RenameFlags::empty())
    }

    fn place(mut self, place: &Path, flags: RenameFlags) -> Result<(), Error> {
        let failed = |error: io::Error| connect::not_created(place, &error);
        self.file.sync_all().map_err(failed)?;
        renameat2(AT_FDCWD, &self.path, AT_FDCWD, place, flags)
            .map_err(|error| failed(error.into()))?;
        self.is_placed = true;
        sync_directory(place).map_err(failed)
    }
}

impl Drop for PartialFile {
    fn drop(&mut self) {
        if !self.is_placed {
            let _ = fs::remove_file(&self.path);
        }
        remove_beside(&self.path);
    }
}

/// Makes what happened to the names in the directory of `path` durable.
pub(crate) fn sync_directory(path: &Path) -> io::Result<()> {
    let directory = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    File::open(directory.unwrap_or(Path::new(".")))?.sync_all()
}

/// A file that SQLite keeps beside a database.
pub(crate) fn beside(database: &Path, ending: &str) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

/// Removes what SQLite put beside a database that no process uses.
pub(crate) fn remove_beside(database: &Path) {
    for ending in BESIDE {
        let _ = fs::remove_file(beside(database, ending));
    }
}

fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    let options = options.read(true).write(true).create(true).truncate(false);
    let no_links = nix::libc::O_NOFOLLOW;
    options.mode(0o600).custom_flags(no_links).open(path)
}

fn is_at(file: &File, path: &Path) -> bool {
    let (open, named) = (file.metadata(), fs::symlink_metadata(path));
    matches!((open, named), (Ok(open), Ok(named)) if (open.dev(), open.ino()) == (named.dev(), named.ino()))
}

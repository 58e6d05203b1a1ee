//! Reads the content of files before a call changes them, so that the change can be undone.

use std::{
    ffi::OsStr,
    fs::{File, Metadata},
    io::{self, Read},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use super::{
    FileTarget, OpenDirectory,
    directory::is_directory,
    nofollow_open::{READ, open},
};
use crate::resolved_path;

/// Largest file whose content is kept.
const LARGEST: u64 = 4 * 1024 * 1024;
/// Most files and bytes kept of a directory that is deleted.
const MOST_FILES: usize = 500;
const MOST_BYTES: u64 = 16 * 1024 * 1024;
/// Deepest directories looked into.
const DEPTH: usize = 64;

/// The content of a file before a call changes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileBefore {
    /// There is no file.
    Absent,
    /// A file, and its permission bits.
    Content { bytes: Vec<u8>, mode: u32 },
    /// It is not read, and why.
    NotKept(String),
}

impl FileTarget {
    /// What is there now.
    pub fn prior(&self) -> FileBefore {
        match self.replaced() {
            Ok(None) => FileBefore::Absent,
            Ok(Some(_)) => self.prior_file(&self.path),
            Err(words) => FileBefore::NotKept(words),
        }
    }

    /// The files of a directory that is deleted with all that is in it, or the one file.
    pub fn prior_tree(&self) -> Vec<(PathBuf, FileBefore)> {
        let mut found = Vec::new();
        let mut bytes = 0;
        self.collect(&self.path, DEPTH, &mut bytes, &mut found);
        found
    }

    fn collect(
        &self,
        path: &Path,
        depth: usize,
        bytes: &mut u64,
        found: &mut Vec<(PathBuf, FileBefore)>,
    ) {
        let stat = path
            .parent()
            .zip(path.file_name())
            .and_then(|(parent, name)| OpenDirectory::open(parent).ok()?.stat(name).ok());
        let Some(stat) = stat else {
            return;
        };
        let is_full = found.len() >= MOST_FILES || *bytes > MOST_BYTES;
        if depth == 0 || is_full {
            let words = "the directory it was in holds more than is kept".to_owned();
            found.push((path.to_owned(), FileBefore::NotKept(words)));
            return;
        }
        if !is_directory(&stat) {
            let before = match self.prior_file(path) {
                FileBefore::Content {
                    bytes: content,
                    mode,
                } => {
                    *bytes += content.len() as u64;
                    FileBefore::Content {
                        bytes: content,
                        mode,
                    }
                }
                other => other,
            };
            found.push((path.to_owned(), before));
            return;
        }
        let mut names: Vec<_> = names(path).unwrap_or_default();
        names.sort();
        for name in names {
            if found.len() > MOST_FILES {
                break;
            }
            self.collect(&path.join(name), depth - 1, bytes, found);
        }
    }

    fn prior_file(&self, path: &Path) -> FileBefore {
        if !self.admits(path) {
            return FileBefore::NotKept("a rule denies reading it".to_owned());
        }
        match read(path) {
            Ok(before) => before,
            Err(error) => FileBefore::NotKept(format!("it could not be read: {error}")),
        }
    }
}

/// What is at a path now, links not followed.
pub fn content_before(path: &Path) -> FileBefore {
    match read(path) {
        Ok(before) => before,
        Err(error) if error.kind() == io::ErrorKind::NotFound => FileBefore::Absent,
        Err(error) => FileBefore::NotKept(format!("it could not be read: {error}")),
    }
}

fn names(path: &Path) -> io::Result<Vec<std::ffi::OsString>> {
    Ok(OpenDirectory::open(path)?.names()?.collect())
}

fn read(path: &Path) -> io::Result<FileBefore> {
    let (mut file, metadata) = match open_regular(path)? {
        Some(opened) => opened,
        None => return Ok(FileBefore::NotKept("it is not a regular file".to_owned())),
    };
    if metadata.len() > LARGEST {
        let size = resolved_path::size(LARGEST);
        return Ok(FileBefore::NotKept(format!("it is larger than {size}")));
    }
    let mut bytes = Vec::new();
    Read::by_ref(&mut file)
        .take(LARGEST + 1)
        .read_to_end(&mut bytes)?;
    Ok(FileBefore::Content {
        bytes,
        mode: metadata.permissions().mode() & 0o7777,
    })
}

/// Opens a regular file without following a link; none if something else has the name.
pub(super) fn open_regular(path: &Path) -> io::Result<Option<(File, Metadata)>> {
    // What is there is looked at first: opening a device may already do something.
    let parent = path.parent().unwrap_or(Path::new("/"));
    let name = path.file_name().unwrap_or(OsStr::new("."));
    let stat = OpenDirectory::open(parent)?.stat(name)?;
    if stat.st_mode & 0o170_000 != 0o100_000 {
        return Ok(None);
    }
    let file = File::from(open(path, READ)?);
    let metadata = file.metadata()?;
    Ok(metadata.is_file().then_some((file, metadata)))
}

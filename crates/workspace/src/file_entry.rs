//! Comparable description of a file: kind and content digest.

use std::{
    fs::{self, File},
    io::{self, Read},
    os::unix::{ffi::OsStrExt, fs::MetadataExt},
    path::Path,
};

use sha2::{Digest, Sha256};

/// Kind of a directory entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EntryKind {
    File,
    /// A file that may be run.
    Program,
    Link,
    /// A directory, or something that has no content to copy.
    Other,
}

/// A file at a moment. Two that are equal have the same content, or link to the same place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FileEntry {
    pub sort: EntryKind,
    pub digest: String,
}

impl FileEntry {
    /// Describes the entry at this path; none if there is none. Links are not followed.
    pub fn of(path: &Path) -> io::Result<Option<Self>> {
        let metadata = match fs::symlink_metadata(path) {
            Ok(metadata) => metadata,
            Err(error) if is_absent(&error) => return Ok(None),
            Err(error) => return Err(error),
        };
        if metadata.is_symlink() {
            let digest = digest_of(fs::read_link(path)?.as_os_str().as_bytes());
            return Ok(Some(Self {
                sort: EntryKind::Link,
                digest,
            }));
        }
        if !metadata.is_file() {
            return Ok(Some(Self {
                sort: EntryKind::Other,
                digest: String::new(),
            }));
        }
        let sort = if metadata.mode() & 0o111 == 0 {
            EntryKind::File
        } else {
            EntryKind::Program
        };
        Ok(Some(Self {
            sort,
            digest: digest_of_file(path)?,
        }))
    }

    /// Whether it has content that could be text.
    pub fn is_file(&self) -> bool {
        matches!(self.sort, EntryKind::File | EntryKind::Program)
    }
}

fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

pub(super) fn digest_of(bytes: &[u8]) -> String {
    format!("{:x}", Sha256::digest(bytes))
}

fn digest_of_file(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 128 * 1024];
    loop {
        let length = file.read(&mut buffer)?;
        if length == 0 {
            return Ok(format!("{:x}", hasher.finalize()));
        }
        hasher.update(buffer.get(..length).unwrap_or_default());
    }
}

/// The text of a file; none if it is not text, or there is none.
pub(super) fn text(path: &Path) -> Option<String> {
    let bytes = fs::read(path).ok()?;
    if bytes.contains(&0) {
        None
    } else {
        String::from_utf8(bytes).ok()
    }
}

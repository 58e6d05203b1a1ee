//! Restores files to an earlier content, without following a link that was put there since.

use std::{
    io::{self, Read},
    os::unix::ffi::OsStrExt,
    path::Path,
};

use sha2::{Digest, Sha256};

use super::{OpenDirectory, prior::open_regular};

/// What a path holds now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileNow {
    Absent,
    /// A regular file with this hash.
    Content(String),
    /// Anything that must be left alone, in words.
    Other(String),
}

/// Looks at a file. Links are not followed, neither the last part nor those above it.
pub fn file_now(path: &Path) -> FileNow {
    match open_regular(path) {
        Ok(Some((file, _))) => match hash_of(file) {
            Ok(hash) => FileNow::Content(hash),
            Err(error) => FileNow::Other(format!("it cannot be read: {error}")),
        },
        Ok(None) => FileNow::Other("something that is not a regular file is there now".to_owned()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => FileNow::Absent,
        Err(error) if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) => {
            FileNow::Other("a link is on the way to it now".to_owned())
        }
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
            FileNow::Other("a link or a file is on the way to it now".to_owned())
        }
        Err(error) => FileNow::Other(format!("it cannot be looked at: {error}")),
    }
}

/// Gives a file this content and these permission bits; directories above it are created.
pub fn restore_file(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let (parent, name) = split(path)?;
    OpenDirectory::make(parent)?.save_with_mode(name, bytes, mode)
}

/// Deletes a file that was created.
pub fn remove_created(path: &Path) -> io::Result<()> {
    let (parent, name) = split(path)?;
    OpenDirectory::open(parent)?.remove(name)
}

fn split(path: &Path) -> io::Result<(&Path, &std::ffi::OsStr)> {
    let parts = path.parent().zip(path.file_name());
    parts
        .filter(|(_, name)| !name.as_bytes().is_empty())
        .ok_or_else(|| io::Error::other("the path has no file name"))
}

fn hash_of(mut file: impl Read) -> io::Result<String> {
    let mut digest = Sha256::new();
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match file.read(&mut buffer)? {
            0 => break,
            count => digest.update(buffer.get(..count).unwrap_or_default()),
        }
    }
    let digest = digest.finalize();
    Ok(digest.iter().map(|byte| format!("{byte:02x}")).collect())
}

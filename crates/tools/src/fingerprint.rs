//! Content hash (SHA-256) of a file or a directory.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{self, ErrorKind, Read},
    os::unix::ffi::OsStrExt,
    path::Path,
};

use rustix::fs::{Mode, OFlags};
use sha2::{Digest, Sha256};

/// The fingerprint of a path that does not exist.
pub const ABSENT: &str = "absent";

/// Limits for a directory: depth, files, bytes.
const DEEPEST: usize = 8;
const MOST_FILES: usize = 2_000;
const MOST_BYTES: u64 = 64 * 1024 * 1024;

/// What is at a path, wherever its links lead: the SHA-256 of a file, or of all that is in a directory.
///
/// Fails where that cannot be told: it may not be read, it is no file, or a directory holds too much.
pub fn fingerprint(path: &Path) -> io::Result<String> {
    match fs::metadata(path) {
        Ok(found) if found.is_dir() => FingerprintBudget {
            files: MOST_FILES,
            bytes: MOST_BYTES,
        }
        .directory(path, DEEPEST),
        Ok(_) => FingerprintBudget {
            files: 1,
            bytes: u64::MAX,
        }
        .file(path),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Ok(ABSENT.into())
        }
        Err(error) => Err(error),
    }
}

/// Remaining budget of files and bytes.
struct FingerprintBudget {
    files: usize,
    bytes: u64,
}

impl FingerprintBudget {
    fn file(&mut self, path: &Path) -> io::Result<String> {
        self.files = self.files.checked_sub(1).ok_or_else(too_much)?;
        // Open without blocking: a named pipe at this path must not make us wait for its other end.
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        let mut file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
        if !file.metadata()?.is_file() {
            return Err(io::Error::new(
                ErrorKind::InvalidInput,
                "it is no regular file",
            ));
        }
        let mut hasher = Sha256::new();
        let mut buffer = vec![0; 64 * 1024];
        loop {
            let length = file.read(&mut buffer)?;
            if length == 0 {
                return Ok(hex(&hasher.finalize()));
            }
            self.bytes = self.bytes.checked_sub(length as u64).ok_or_else(too_much)?;
            hasher.update(buffer.get(..length).unwrap_or_default());
        }
    }

    fn directory(&mut self, path: &Path, depth: usize) -> io::Result<String> {
        let below = depth.checked_sub(1).ok_or_else(too_much)?;
        let mut held = BTreeMap::new();
        for entry in fs::read_dir(path)? {
            let entry = entry?;
            let word = match fs::metadata(entry.path()) {
                Ok(found) if found.is_dir() => self.directory(&entry.path(), below)?,
                Ok(_) => self.file(&entry.path())?,
                // A link that leads nowhere, until it does.
                Err(error) if error.kind() == ErrorKind::NotFound => ABSENT.into(),
                Err(error) => return Err(error),
            };
            held.insert(entry.file_name(), word);
        }
        let mut hasher = Sha256::new();
        for (name, word) in held {
            hasher.update(name.as_bytes());
            hasher.update([0]);
            hasher.update(word.as_bytes());
            hasher.update([0]);
        }
        Ok(format!("directory {}", hex(&hasher.finalize())))
    }
}

fn too_much() -> io::Error {
    io::Error::new(ErrorKind::FileTooLarge, "it is more than can be looked at")
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn it_changes_with_what_is_there_and_with_nothing_else() {
        let place = tempfile::tempdir().unwrap();
        let (file, inner) = (place.path().join("a"), place.path().join("inner"));
        assert_eq!(fingerprint(&file).unwrap(), ABSENT);
        assert_eq!(fingerprint(&file.join("below")).unwrap(), ABSENT);
        fs::write(&file, "one").unwrap();
        let one = fingerprint(&file).unwrap();
        assert_eq!(
            fingerprint(&file.join("below")).unwrap(),
            ABSENT,
            "a file has nothing below it"
        );
        let whole = fingerprint(place.path()).unwrap();
        fs::create_dir(&inner).unwrap();
        let wider = fingerprint(place.path()).unwrap();
        assert_ne!(whole, wider);
        symlink(&file, inner.join("link")).unwrap();
        assert_eq!(
            fingerprint(&inner.join("link")).unwrap(),
            one,
            "what counts is where it leads"
        );
        fs::write(&file, "two").unwrap();
        assert_ne!(fingerprint(&file).unwrap(), one);
        fs::write(&file, "one").unwrap();
        fs::remove_dir_all(&inner).unwrap();
        assert_eq!(
            (
                fingerprint(&file).unwrap(),
                fingerprint(place.path()).unwrap()
            ),
            (one, whole)
        );
    }

    #[test]
    fn what_cannot_be_told_is_an_error_and_nobody_waits() {
        let place = tempfile::tempdir().unwrap();
        let pipe = place.path().join("pipe");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &pipe,
            rustix::fs::FileType::Fifo,
            Mode::from_raw_mode(0o600),
            0,
        )
        .unwrap();
        assert!(
            fingerprint(&pipe)
                .unwrap_err()
                .to_string()
                .contains("no regular file")
        );
        fs::remove_file(&pipe).unwrap();
        symlink(place.path(), place.path().join("round")).unwrap();
        assert!(
            fingerprint(place.path())
                .unwrap_err()
                .to_string()
                .contains("more than can be looked at")
        );
    }
}

//! Atomic file replace with fsync: writes a temporary file in the same directory, syncs it and renames it.
//!
//! A reader sees the old content or the new one, also after a crash or a power failure: the file is synced before it
//! gets its name, and its directory afterwards. A failure leaves no temporary file behind.
//!
//! A symbolic link at the path is replaced, not followed: who may create a link must not choose which file is written.
//! Only [`replace_through_links`] follows links, for files that users keep and may link themselves.

use std::{
    fs::{self, File, OpenOptions, Permissions},
    hash::{BuildHasher, RandomState},
    io::{self, BufWriter, Write},
    os::unix::fs::{OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
};

/// Readable and writable for the owner only.
const PRIVATE: u32 = 0o600;
/// What programs ask for; the user's umask narrows it.
const DEFAULT: u32 = 0o666;
/// Retries with another name for a temporary file.
const TRIES: usize = 16;

/// A file being written. Dropping it without a commit leaves what was there before.
///
/// ```
/// use std::io::Write;
/// use rooftree_stdx::atomic_file::AtomicFile;
///
/// let directory = tempfile::tempdir()?;
/// let path = directory.path().join("export.jsonl");
/// let mut file = AtomicFile::private(&path)?;
/// file.write_all(b"{}\n")?;
/// assert!(!path.exists());
/// file.commit()?;
/// assert_eq!(std::fs::read(&path)?, b"{}\n");
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct AtomicFile {
    path: PathBuf,
    temporary: TemporaryFile,
    writer: BufWriter<File>,
}

impl AtomicFile {
    /// Begins to replace a file, whose mode bits stay. A new file gets the mode that the umask allows.
    pub fn create(path: &Path) -> io::Result<Self> {
        let file = Self::with_mode(path, DEFAULT)?;
        if let Ok(existing) = fs::symlink_metadata(path)
            && existing.is_file()
        {
            let mode = existing.permissions().mode() & 0o7777;
            let writer = file.writer.get_ref();
            writer.set_permissions(Permissions::from_mode(mode))?;
        }
        Ok(file)
    }

    /// Begins to replace a file by one that only its owner may read (mode 0600).
    pub fn private(path: &Path) -> io::Result<Self> {
        Self::with_mode(path, PRIVATE)
    }

    fn with_mode(path: &Path, mode: u32) -> io::Result<Self> {
        let (temporary, file) = TemporaryFile::open(directory_of(path), mode)?;
        Ok(Self {
            path: path.to_owned(),
            temporary,
            writer: BufWriter::new(file),
        })
    }

    /// Puts the file in its place, once all of it is on disk.
    pub fn commit(mut self) -> io::Result<()> {
        self.sync()?;
        fs::rename(&self.temporary.0, &self.path)?;
        sync_directory(&self.path)
    }

    /// The same without fsync: after a power failure the file may be empty or damaged. Only for caches whose
    /// content is verified when it is read.
    pub fn commit_without_fsync(mut self) -> io::Result<()> {
        self.writer.flush()?;
        fs::rename(&self.temporary.0, &self.path)
    }

    /// Puts the file in its place unless there is one already. Returns whether it did.
    pub fn commit_new(mut self) -> io::Result<bool> {
        self.sync()?;
        // A hard link is made whole or not at all, and never over something.
        match fs::hard_link(&self.temporary.0, &self.path) {
            Ok(()) => sync_directory(&self.path).map(|()| true),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn sync(&mut self) -> io::Result<()> {
        self.writer.flush()?;
        self.writer.get_ref().sync_all()
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

/// A temporary file; dropping it removes the file, unless that has got its name by then.
#[derive(Debug)]
struct TemporaryFile(PathBuf);

impl TemporaryFile {
    fn open(directory: &Path, mode: u32) -> io::Result<(Self, File)> {
        for _ in 0..TRIES {
            // Randomly seeded by the system: another process cannot guess the name and create the file first.
            let name = format!(
                ".rooftree-{:016x}",
                RandomState::new().hash_one(std::process::id())
            );
            let path = directory.join(name);
            let mut options = OpenOptions::new();
            match options.write(true).create_new(true).mode(mode).open(&path) {
                Ok(file) => return Ok((Self(path), file)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        // After a rename there is nothing to remove.
        let _ = fs::remove_file(&self.0);
    }
}

/// Replaces the content of a file and keeps its mode bits. Creates the file and missing directories.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    fs::create_dir_all(directory_of(path))?;
    let mut file = AtomicFile::create(path)?;
    file.write_all(bytes)?;
    file.commit()
}

/// Replaces the content of a file that only its owner may read (mode 0600), whatever mode it had.
pub fn replace_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = AtomicFile::private(path)?;
    file.write_all(bytes)?;
    file.commit()
}

/// As [`replace`], but a symbolic link stays one: the file that it leads to is replaced.
pub fn replace_through_links(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    replace(&real, bytes)
}

/// The directory of a file, in which its temporary file lies too.
fn directory_of(path: &Path) -> &Path {
    path.parent()
        .filter(|parent| !parent.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}

/// Makes a rename durable.
fn sync_directory(path: &Path) -> io::Result<()> {
    File::open(directory_of(path))?.sync_all()
}

#[cfg(test)]
mod tests;

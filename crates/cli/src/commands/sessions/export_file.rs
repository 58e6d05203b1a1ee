//! A file that an export writes: private, and there as a whole or not at all.

use std::{
    io::Write,
    path::{Path, PathBuf},
};

use rooftree_protocol::{ErrorCode, Problem};
use rooftree_stdx::atomic_file::AtomicFile;

/// An exported file being written. Dropping it without [`ExportFile::commit`] leaves what was there before.
pub struct ExportFile {
    path: PathBuf,
    file: AtomicFile,
}

impl ExportFile {
    /// Begins. Only its owner may read it: conversations are private.
    pub fn create(path: &Path) -> Result<Self, Problem> {
        if path.file_name().is_none() || path.is_dir() {
            return Err(cannot_write(path, "it is a directory"));
        }
        let file = AtomicFile::private(path).map_err(|error| cannot_write(path, error))?;
        Ok(Self {
            path: path.to_owned(),
            file,
        })
    }

    /// Writes some more.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), Problem> {
        let written = self.file.write_all(bytes);
        written.map_err(|error| cannot_write(&self.path, error))
    }

    /// Puts it in its place, once all of it is on disk.
    pub fn commit(self) -> Result<(), Problem> {
        let committed = self.file.commit();
        committed.map_err(|error| cannot_write(&self.path, error))
    }
}

/// Writes a whole file.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), Problem> {
    let mut file = ExportFile::create(path)?;
    file.write(bytes)?;
    file.commit()
}

/// Says that a place cannot be written to, and why.
pub fn cannot_write(path: &Path, why: impl ToString) -> Problem {
    Problem::new(
        ErrorCode::InvalidArguments,
        format!("cannot write `{}`", path.display()),
    )
    .cause(why.to_string())
    .fix("choose another place with --out PATH")
}

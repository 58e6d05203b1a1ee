//! Atomic file write with fsync: written to a temporary file beside its path, then renamed, so that it
//! appears whole or not at all.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, BufWriter, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use rooftree_protocol::{ErrorCode, Problem};

/// A file being written. Dropping it without [`AtomicFile::commit`] leaves what was there before.
pub struct AtomicFile {
    path: PathBuf,
    beside: PathBuf,
    file: Option<BufWriter<File>>,
}

impl AtomicFile {
    /// Begins. Only its owner may read it: conversations are private.
    pub fn create(path: &Path) -> Result<Self, Problem> {
        let Some(name) = path.file_name().filter(|_| !path.is_dir()) else {
            return Err(cannot_write(path, "it is a directory"));
        };
        let beside = path.with_file_name(format!(
            ".{}.{}",
            name.to_string_lossy(),
            std::process::id()
        ));
        let opened = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&beside);
        let file = opened.map_err(|error| cannot_write(path, error))?;
        Ok(Self {
            path: path.to_owned(),
            beside,
            file: Some(BufWriter::new(file)),
        })
    }

    /// Writes some more.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), Problem> {
        let written = self
            .file
            .as_mut()
            .map_or(Ok(()), |file| file.write_all(bytes));
        written.map_err(|error| cannot_write(&self.path, error))
    }

    /// Puts it in its place, once all of it is on disk.
    pub fn commit(mut self) -> Result<(), Problem> {
        let Some(file) = self.file.take() else {
            return Ok(());
        };
        let kept = finish(file, &self.beside, &self.path);
        if kept.is_err() {
            let _ = fs::remove_file(&self.beside);
        }
        kept.map_err(|error| cannot_write(&self.path, error))
    }
}

impl Drop for AtomicFile {
    fn drop(&mut self) {
        if self.file.take().is_some() {
            // Nothing depends on it being gone.
            let _ = fs::remove_file(&self.beside);
        }
    }
}

fn finish(file: BufWriter<File>, beside: &Path, path: &Path) -> io::Result<()> {
    file.into_inner()
        .map_err(io::IntoInnerError::into_error)?
        .sync_all()?;
    fs::rename(beside, path)?;
    let directory = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    File::open(directory.unwrap_or(Path::new(".")))?.sync_all()
}

/// Writes a whole file.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), Problem> {
    let mut file = AtomicFile::create(path)?;
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

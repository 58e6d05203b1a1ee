//! Saves a file atomically, in a directory that is already open.

use std::{
    ffi::OsStr,
    fs::{File, Permissions},
    hash::{BuildHasher, RandomState},
    io::{self, Write},
    os::unix::fs::{MetadataExt, PermissionsExt, fchown},
};

use rustix::{
    fs::{AtFlags, Mode, OFlags, openat, renameat, unlinkat},
    io::Errno,
};

use super::directory::OpenDirectory;

/// Retries with another name for a temporary file.
const TRIES: usize = 16;

impl OpenDirectory {
    /// Replaces or creates a file in one step: readers see the old content or the new one, mode and owner
    /// stay. Whatever has the name is replaced itself: a link is not written through.
    pub fn save(&self, name: &OsStr, bytes: &[u8]) -> io::Result<()> {
        self.replace(name, bytes, |file| self.dress(file, name))
    }

    /// The same with these permission bits.
    pub fn save_with_mode(&self, name: &OsStr, bytes: &[u8], mode: u32) -> io::Result<()> {
        self.replace(name, bytes, |file| {
            file.set_permissions(Permissions::from_mode(mode & 0o7777))
        })
    }

    fn replace(
        &self,
        name: &OsStr,
        bytes: &[u8],
        dress: impl FnOnce(&File) -> io::Result<()>,
    ) -> io::Result<()> {
        let (temporary, mut file) = self.temporary()?;
        let saved = dress(&file)
            .and_then(|()| file.write_all(bytes))
            // Otherwise a power failure could leave an empty file under the name of the old one.
            .and_then(|()| file.sync_all())
            .and_then(|()| Ok(renameat(&self.0, &temporary, &self.0, name)?));
        if saved.is_err() {
            // Best effort: what is left over is empty or incomplete, and hidden.
            let _ = unlinkat(&self.0, &temporary, AtFlags::empty());
        }
        saved
    }

    fn temporary(&self) -> io::Result<(String, File)> {
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        for _ in 0..TRIES {
            // Randomly seeded by the system: another process cannot keep guessing the name and create the file first.
            let name = format!(
                ".rooftree-{:016x}",
                RandomState::new().hash_one(std::process::id())
            );
            // The mode a new file gets is narrowed by the user's mask, as for any other program.
            match openat(&self.0, &name, flags, Mode::from_raw_mode(0o666)) {
                Ok(file) => return Ok((name, File::from(file))),
                Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// Gives a new file the owner and mode of the one it replaces.
    fn dress(&self, file: &File, name: &OsStr) -> io::Result<()> {
        let Ok(existing) = self.stat(name) else {
            return Ok(());
        };
        let own = file.metadata()?;
        if (own.uid(), own.gid()) != (existing.st_uid, existing.st_gid) {
            // Only root can give files away; for others the file becomes their own.
            let _ = fchown(file, Some(existing.st_uid), Some(existing.st_gid));
        }
        // A link has no mode of its own: all bits are set.
        let is_file = existing.st_mode & 0o170_000 == 0o100_000;
        if is_file {
            file.set_permissions(Permissions::from_mode(existing.st_mode & 0o7777))
        } else {
            Ok(())
        }
    }
}

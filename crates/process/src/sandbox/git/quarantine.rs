//! Replaces a file in a directory that a confined program can write to, without following its links.
//!
//! Invariant: nothing outside the root is changed. Every directory between the root and the file
//! is opened by name in the one before it, and links are refused.

use std::{
    ffi::{OsStr, OsString},
    fs::{self, File},
    io::{self, Write},
    os::{
        fd::OwnedFd,
        unix::fs::{DirBuilderExt, OpenOptionsExt},
    },
    path::{Component, Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};

use nix::{
    errno::Errno,
    fcntl::{AtFlags, OFlag, open, openat, renameat},
    sys::stat::{Mode, SFlag, fstatat, mkdirat},
    unistd::{UnlinkatFlags, symlinkat, unlinkat},
};

use super::{change_check::FileRepair, guarded_files::GuardedContent};

const DIRECTORY: OFlag = OFlag::O_PATH
    .union(OFlag::O_DIRECTORY)
    .union(OFlag::O_NOFOLLOW)
    .union(OFlag::O_CLOEXEC);

/// Where what is taken away is kept.
pub(super) struct FileQuarantine {
    quarantine: Option<PathBuf>,
    moment: u64,
    count: usize,
}

impl FileQuarantine {
    pub(super) fn new(quarantine: Option<PathBuf>) -> Self {
        let moment = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |since| since.as_secs());
        Self {
            quarantine,
            moment,
            count: 0,
        }
    }

    /// Puts something else in place of a file, or nothing; says where the file is kept.
    pub(super) fn replace(
        &mut self,
        root: &Path,
        path: &Path,
        verdict: &FileRepair,
    ) -> io::Result<Option<PathBuf>> {
        let Some((parent, name)) = parent(root, path)? else {
            return Ok(None);
        };
        let kept = match &verdict.now {
            Some(content) => Some(self.keep(root, path, content, (&parent, &name))?),
            None => None,
        };
        match &verdict.instead {
            Some(GuardedContent::File { bytes, mode }) => put(&parent, &name, bytes, *mode)?,
            Some(GuardedContent::Link(target)) => {
                remove(&parent, &name)?;
                symlinkat(target, &parent, name.as_os_str())?;
            }
            Some(GuardedContent::Large(..)) | None => remove(&parent, &name)?,
        }
        Ok(kept)
    }

    /// Keeps a copy in quarantine, where git and commands do not look; a large file stays where it is, renamed.
    fn keep(
        &mut self,
        root: &Path,
        path: &Path,
        content: &GuardedContent,
        at: (&OwnedFd, &OsStr),
    ) -> io::Result<PathBuf> {
        self.count += 1;
        let ending = format!("quarantined-{}-{}", self.moment, self.count);
        let bytes = match content {
            GuardedContent::File { bytes, .. } => bytes.clone(),
            GuardedContent::Link(target) => format!("link to {}\n", target.display()).into_bytes(),
            GuardedContent::Large(..) => Vec::new(),
        };
        let is_large = matches!(content, GuardedContent::Large(..));
        match &self.quarantine {
            Some(directory) if !is_large => {
                fs::DirBuilder::new()
                    .recursive(true)
                    .mode(0o700)
                    .create(directory)?;
                // One flat name: no directory in there can look like a repository.
                let flat = path
                    .strip_prefix(root)
                    .unwrap_or(path)
                    .to_string_lossy()
                    .replace('/', "%");
                let file = directory.join(format!("{flat}.{ending}"));
                let mut options = File::options();
                options
                    .write(true)
                    .create_new(true)
                    .mode(0o600)
                    .open(&file)?
                    .write_all(&bytes)?;
                Ok(file)
            }
            _ => {
                let (parent, name) = at;
                let mut beside = name.to_owned();
                beside.push(format!(".{ending}"));
                if is_large {
                    renameat(parent, name, parent, beside.as_os_str())?;
                } else {
                    put(parent, &beside, &bytes, 0o600)?;
                }
                Ok(path.with_file_name(beside))
            }
        }
    }
}

/// The directory a file is in, opened; none if it is gone, and then nothing has to be put back either.
fn parent(root: &Path, path: &Path) -> io::Result<Option<(OwnedFd, OsString)>> {
    let rest = path.strip_prefix(root).map_err(io::Error::other)?;
    let mut names: Vec<&OsStr> = Vec::new();
    for part in rest.components() {
        let Component::Normal(name) = part else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        names.push(name);
    }
    let Some(last) = names.pop() else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let mut directory = open(root, DIRECTORY, Mode::empty())?;
    for (at, name) in names.iter().enumerate() {
        directory = match openat(&directory, *name, DIRECTORY, Mode::empty()) {
            // Recreate only the last directory: if more is gone, the repository itself was removed.
            Err(Errno::ENOENT) if at + 1 == names.len() => {
                mkdirat(&directory, *name, Mode::from_bits_truncate(0o755))?;
                openat(&directory, *name, DIRECTORY, Mode::empty())?
            }
            Err(Errno::ENOENT) => return Ok(None),
            opened => opened?,
        };
    }
    Ok(Some((directory, last.to_owned())))
}

fn put(parent: &OwnedFd, name: &OsStr, bytes: &[u8], mode: u32) -> io::Result<()> {
    let mut fresh = name.to_owned();
    fresh.push(".rooftree-new");
    remove(parent, &fresh)?;
    let flags =
        OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    let file: File = openat(
        parent,
        fresh.as_os_str(),
        flags,
        Mode::from_bits_truncate(mode),
    )?
    .into();
    (&file).write_all(bytes)?;
    file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(mode))?;
    renameat(parent, fresh.as_os_str(), parent, name)?;
    Ok(())
}

/// Removes a file or an empty directory; none is as good.
fn remove(parent: &OwnedFd, name: &OsStr) -> io::Result<()> {
    let found = match fstatat(parent, name, AtFlags::AT_SYMLINK_NOFOLLOW) {
        Err(Errno::ENOENT) => return Ok(()),
        found => found?,
    };
    let is_directory = SFlag::from_bits_truncate(found.st_mode) & SFlag::S_IFMT == SFlag::S_IFDIR;
    let flag = if is_directory {
        UnlinkatFlags::RemoveDir
    } else {
        UnlinkatFlags::NoRemoveDir
    };
    Ok(unlinkat(parent, name, flag)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_on_the_way_is_not_followed() {
        let place = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(place.path()).unwrap();
        fs::create_dir_all(root.join("work")).unwrap();
        fs::create_dir_all(root.join("outside")).unwrap();
        fs::write(root.join("outside/config"), "own").unwrap();
        std::os::unix::fs::symlink("../outside", root.join("work/.git")).unwrap();
        let content = GuardedContent::File {
            bytes: b"new".to_vec(),
            mode: 0o644,
        };
        let verdict = FileRepair {
            why: String::new(),
            now: None,
            instead: Some(content),
            is_restored: true,
        };
        let mut store = FileQuarantine::new(None);
        assert!(
            store
                .replace(&root.join("work"), &root.join("work/.git/config"), &verdict)
                .is_err()
        );
        assert_eq!(
            fs::read_to_string(root.join("outside/config")).unwrap(),
            "own"
        );
    }

    #[test]
    fn what_is_replaced_is_kept_and_cannot_be_run() {
        use std::os::unix::fs::PermissionsExt;
        let place = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(place.path()).unwrap();
        fs::create_dir_all(root.join("hooks")).unwrap();
        fs::write(root.join("hooks/pre-commit"), "evil").unwrap();
        for quarantine in [Some(root.join("quarantine")), None] {
            let now = GuardedContent::File {
                bytes: b"evil".to_vec(),
                mode: 0o755,
            };
            let verdict = FileRepair {
                why: String::new(),
                now: Some(now),
                instead: None,
                is_restored: false,
            };
            let kept = FileQuarantine::new(quarantine)
                .replace(&root, &root.join("hooks/pre-commit"), &verdict)
                .unwrap()
                .unwrap();
            assert!(!root.join("hooks/pre-commit").exists());
            assert_eq!(fs::read_to_string(&kept).unwrap(), "evil");
            assert_eq!(fs::metadata(&kept).unwrap().permissions().mode() & 0o111, 0);
        }
    }
}

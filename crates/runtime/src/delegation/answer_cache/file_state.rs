//! Fingerprints the files that searches below a directory depend on: the tree itself and its ignore files.

use std::{
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use rooftree_protocol::BlobId;
use rooftree_store::blob_id;

/// Entries beyond which looking whether something changed takes too long.
const MOST_ENTRIES: usize = 50_000;

/// Fingerprint of the files below a directory, and of the ignore files that apply there.
pub(super) struct FileState {
    /// Equal for equal states.
    pub(super) name: BlobId,
    /// When something last changed.
    pub(super) latest: SystemTime,
}

/// The state of a directory, computed on a thread that may block.
pub(super) async fn of(directory: PathBuf) -> Option<FileState> {
    tokio::task::spawn_blocking(move || fingerprint(&directory))
        .await
        .ok()
        .flatten()
}

/// None if there are too many files, if one cannot be looked at, or if one is a symbolic link.
fn fingerprint(directory: &Path) -> Option<FileState> {
    let mut fingerprint = FileFingerprint {
        bytes: Vec::new(),
        latest: UNIX_EPOCH,
        entries: 0,
    };
    let above = directory.ancestors().skip(1);
    for outer in above.flat_map(|outer| {
        [".ignore", ".gitignore", ".git/info/exclude"].map(|name| outer.join(name))
    }) {
        fingerprint.add_optional(&outer)?;
    }
    // Walks leave out what the user's own ignore file names, wherever they begin.
    let users = ignore::gitignore::gitconfig_excludes_path();
    users.map_or(Some(()), |users| fingerprint.add_optional(&users))?;
    // A linked worktree has its exclude file elsewhere.
    if directory
        .ancestors()
        .any(|outer| outer.join(".git").is_file())
    {
        return None;
    }
    fingerprint.add_tree(directory)?;
    Some(FileState {
        name: blob_id(&fingerprint.bytes),
        latest: fingerprint.latest,
    })
}

struct FileFingerprint {
    bytes: Vec<u8>,
    latest: SystemTime,
    entries: usize,
}

impl FileFingerprint {
    fn add_tree(&mut self, directory: &Path) -> Option<()> {
        let mut open = vec![directory.to_path_buf()];
        while let Some(path) = open.pop() {
            let about = fs::symlink_metadata(&path).ok()?;
            self.add(&path, &about)?;
            // A link may lead anywhere; what is behind it is not looked at, and so nothing is kept.
            if about.is_symlink() {
                return None;
            }
            if path.file_name().is_some_and(|name| name == ".git") {
                // Nothing below it is covered, except for what walks read there.
                if !about.is_dir() {
                    return None;
                }
                self.add_optional(&path.join("info/exclude"))?;
            } else if about.is_dir() {
                let below = fs::read_dir(&path)
                    .ok()?
                    .map(|entry| Some(entry.ok()?.path()));
                let mut below: Vec<PathBuf> = below.collect::<Option<_>>()?;
                below.sort_unstable();
                open.append(&mut below);
            }
        }
        Some(())
    }

    /// A file that need not exist: its absence is part of the state.
    fn add_optional(&mut self, path: &Path) -> Option<()> {
        match fs::metadata(path) {
            Ok(about) => self.add(path, &about),
            Err(error) if is_absent(&error) => Some(()),
            Err(_) => None,
        }
    }

    fn add(&mut self, path: &Path, about: &fs::Metadata) -> Option<()> {
        self.entries += 1;
        if self.entries > MOST_ENTRIES {
            return None;
        }
        self.latest = self
            .latest
            .max(about.modified().ok()?)
            .max(changed_at(about));
        self.bytes
            .extend_from_slice(path.as_os_str().as_encoded_bytes());
        self.bytes.push(0);
        for number in [about.dev(), about.ino(), about.size()] {
            self.bytes.extend_from_slice(&number.to_le_bytes());
        }
        for number in [
            about.mtime(),
            about.mtime_nsec(),
            about.ctime(),
            about.ctime_nsec(),
        ] {
            self.bytes.extend_from_slice(&number.to_le_bytes());
        }
        Some(())
    }
}

fn is_absent(error: &std::io::Error) -> bool {
    matches!(
        error.kind(),
        std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory
    )
}

fn changed_at(about: &fs::Metadata) -> SystemTime {
    let seconds = Duration::from_secs(u64::try_from(about.ctime()).unwrap_or_default());
    UNIX_EPOCH
        + seconds
        + Duration::from_nanos(u64::try_from(about.ctime_nsec()).unwrap_or_default())
}

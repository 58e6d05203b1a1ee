//! Scans which files exist and when they changed, without opening any.

use std::{
    fs::Metadata,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use ignore::{DirEntry, WalkState};
use tokio_util::sync::CancellationToken;

use super::{file_source::FileSource, indexed_file::IndexedFileStamp};

/// Files of one index. More are left out, and the answer says so.
const MOST_FILES: usize = 100_000;

/// Larger files are data, or made by programs.
pub(super) const FILE_BYTES: u64 = 1024 * 1024;

/// Generated files and data, whose many words mean nothing.
const MADE: [&str; 9] = [
    ".lock",
    "package-lock.json",
    "pnpm-lock.yaml",
    "go.sum",
    ".min.js",
    ".min.css",
    ".map",
    ".svg",
    ".snap",
];

/// The files of a root.
pub(super) struct FileScan {
    /// Files from the root on, sorted.
    pub files: Vec<(PathBuf, IndexedFileStamp)>,
    /// Whether these are all.
    pub is_complete: bool,
}

/// Walks below a root, as search tools do. None if it was cancelled.
pub(super) fn scan_files(
    root: &Path,
    source: FileSource,
    cancel: &CancellationToken,
) -> Option<FileScan> {
    let files = Mutex::new(Vec::new());
    let count = AtomicUsize::new(0);
    (source.walk)(root).build_parallel().run(|| {
        let mut own = ScanBatch {
            files: &files,
            found: Vec::new(),
        };
        let count = &count;
        Box::new(move |entry| {
            if cancel.is_cancelled() || count.load(Ordering::Relaxed) >= MOST_FILES {
                return WalkState::Quit;
            }
            if let Some(file) = entry.ok().and_then(|entry| file(&entry, root)) {
                count.fetch_add(1, Ordering::Relaxed);
                own.found.push(file);
            }
            WalkState::Continue
        })
    });
    let mut files = files.into_inner().unwrap_or_else(PoisonError::into_inner);
    files.sort_unstable_by(|one, other| one.0.as_os_str().cmp(other.0.as_os_str()));
    let is_complete = count.into_inner() < MOST_FILES;
    (!cancel.is_cancelled()).then_some(FileScan { files, is_complete })
}

/// What one thread found; it is handed over when the thread is done.
struct ScanBatch<'a> {
    files: &'a Mutex<Vec<(PathBuf, IndexedFileStamp)>>,
    found: Vec<(PathBuf, IndexedFileStamp)>,
}

impl Drop for ScanBatch<'_> {
    fn drop(&mut self) {
        self.files
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .append(&mut self.found);
    }
}

/// Only files themselves: a link could lead anywhere.
fn file(entry: &DirEntry, root: &Path) -> Option<(PathBuf, IndexedFileStamp)> {
    if !entry.file_type().is_some_and(|kind| kind.is_file()) {
        return None;
    }
    let name = entry.file_name().to_string_lossy();
    if MADE.iter().any(|made| name.ends_with(made)) {
        return None;
    }
    let metadata = entry
        .metadata()
        .ok()
        .filter(|metadata| (1..=FILE_BYTES).contains(&metadata.len()))?;
    Some((
        entry.path().strip_prefix(root).ok()?.to_owned(),
        stamp(&metadata),
    ))
}

/// A program can set back when a file's content changed, but not when its node did.
fn stamp(metadata: &Metadata) -> IndexedFileStamp {
    let nanoseconds =
        |seconds: i64, rest: i64| seconds.saturating_mul(1_000_000_000).saturating_add(rest);
    let content = nanoseconds(metadata.mtime(), metadata.mtime_nsec());
    let node = nanoseconds(metadata.ctime(), metadata.ctime_nsec());
    IndexedFileStamp {
        bytes: metadata.len(),
        changed: content.max(node),
    }
}

//! The search index of one root: an entry for each file, and its refresh from disk.
//!
//! An index is immutable. A refresh builds the next one, which shares the entries of unchanged files; concurrent
//! searches continue in the old one.

use std::{
    collections::HashMap,
    ffi::OsStr,
    io::Read,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{SystemTime, UNIX_EPOCH},
};

use tokio_util::sync::CancellationToken;

use super::{
    file_scan::{FILE_BYTES, scan_files},
    file_source::FileSource,
    indexed_file::{IndexedFile, IndexedFileStamp, hash},
};

/// A file that changed this shortly before it was read may change again within the same tick of
/// its file system's clock. Its stamp proves nothing, so it is read again the next time.
const TICK: i64 = 2_000_000_000;
const UNPROVEN: i64 = i64::MIN;

/// Above this many files to index, progress is reported.
const MANY: usize = 500;

/// All files of a root.
pub(super) struct SearchIndex {
    pub root: PathBuf,
    pub source: FileSource,
    /// Sorted by path.
    pub files: Vec<Arc<IndexedFile>>,
    /// Whether no file was left out because there are too many.
    pub is_complete: bool,
}

/// A newer index.
pub(super) struct RefreshedIndex {
    pub index: SearchIndex,
    /// Files whose content is new, or that are gone.
    pub changes: usize,
}

/// A file to be looked at again, with what was known of it.
struct StaleFile<'a> {
    path: PathBuf,
    stamp: IndexedFileStamp,
    known: Option<&'a Arc<IndexedFile>>,
}

impl SearchIndex {
    /// An index that knows nothing yet.
    pub fn empty(root: &Path, source: FileSource) -> Self {
        Self {
            root: root.to_owned(),
            source,
            files: Vec::new(),
            is_complete: true,
        }
    }

    /// Where a file is.
    pub fn place(&self, entry: &IndexedFile) -> PathBuf {
        // A root may be a file itself.
        if entry.path.as_os_str().is_empty() {
            self.root.clone()
        } else {
            self.root.join(&entry.path)
        }
    }

    /// The text of a file as it is now; nothing if it cannot be read.
    pub fn text(&self, entry: &IndexedFile) -> String {
        String::from_utf8_lossy(&read(&self.place(entry), self.source).unwrap_or_default())
            .into_owned()
    }

    /// The index without what rules keep from a call: others may see that, and it is their index too.
    pub fn within(&self, admits: &dyn Fn(&Path) -> bool) -> Arc<Self> {
        let is_admitted = |entry: &&Arc<IndexedFile>| admits(&self.place(entry));
        let files = self.files.iter().filter(is_admitted).cloned().collect();
        Arc::new(Self {
            root: self.root.clone(),
            source: self.source,
            files,
            is_complete: self.is_complete,
        })
    }

    /// The index as the disk is now. None if it was cancelled.
    pub fn refreshed(
        &self,
        cancel: &CancellationToken,
        progress: &dyn Fn(&str),
    ) -> Option<RefreshedIndex> {
        let survey = scan_files(&self.root, self.source, cancel)?;
        let known: HashMap<&OsStr, &Arc<IndexedFile>> = self
            .files
            .iter()
            .map(|entry| (entry.path.as_os_str(), entry))
            .collect();
        let (mut files, mut doubts) = (Vec::with_capacity(survey.files.len()), Vec::new());
        for (path, stamp) in survey.files {
            match known.get(path.as_os_str()) {
                Some(entry) if entry.stamp == stamp => files.push(Arc::clone(entry)),
                known => doubts.push(StaleFile {
                    path,
                    stamp,
                    known: known.copied(),
                }),
            }
        }
        if doubts.len() > MANY {
            progress(&format!("indexing {} files …\n", doubts.len()));
        }
        let looked_at = look_at(self, &doubts, cancel)?;
        let is_kept = |entry: &&Arc<IndexedFile>| {
            known
                .get(entry.path.as_os_str())
                .is_some_and(|known| known.hash == entry.hash)
        };
        let kept = files.len() + looked_at.iter().filter(is_kept).count();
        let new = files.len() + looked_at.len() - kept;
        files.extend(looked_at);
        files.sort_unstable_by(|one, other| one.path.as_os_str().cmp(other.path.as_os_str()));
        let changes = new + (self.files.len().saturating_sub(kept));
        let index = Self {
            root: self.root.clone(),
            source: self.source,
            files,
            is_complete: survey.is_complete,
        };
        Some(RefreshedIndex { index, changes })
    }
}

/// Reads files on all processors. Those that cannot be read are left out.
fn look_at(
    index: &SearchIndex,
    doubts: &[StaleFile<'_>],
    cancel: &CancellationToken,
) -> Option<Vec<Arc<IndexedFile>>> {
    let threads = thread::available_parallelism().map_or(1, |cores| cores.get().min(8));
    let next = AtomicUsize::new(0);
    let work = || {
        let mut entries = Vec::new();
        while let Some(doubt) = doubts.get(next.fetch_add(1, Ordering::Relaxed)) {
            if cancel.is_cancelled() {
                break;
            }
            entries.extend(entry(index, doubt));
        }
        entries
    };
    let entries = if doubts.len() < 16 {
        work()
    } else {
        thread::scope(|scope| {
            let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
            workers
                .into_iter()
                .filter_map(|worker| worker.join().ok())
                .flatten()
                .collect()
        })
    };
    (!cancel.is_cancelled()).then_some(entries)
}

/// Reads a file that was one a moment ago. It may have become a link or a FIFO since, or grown.
fn read(path: &Path, source: FileSource) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    (source.open)(path)
        .ok()?
        .take(FILE_BYTES)
        .read_to_end(&mut bytes)
        .ok()?;
    Some(bytes)
}

/// The entry for a file: the known one's content if it is still that.
fn entry(index: &SearchIndex, doubt: &StaleFile<'_>) -> Option<Arc<IndexedFile>> {
    let path = if doubt.path.as_os_str().is_empty() {
        index.root.clone()
    } else {
        index.root.join(&doubt.path)
    };
    let read_at = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(i64::MAX, |since| {
            i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
        });
    let bytes = read(&path, index.source)?;
    let is_proven = doubt.stamp.bytes == bytes.len() as u64
        && doubt.stamp.changed < read_at.saturating_sub(TICK);
    let stamp = if is_proven {
        doubt.stamp
    } else {
        IndexedFileStamp {
            changed: UNPROVEN,
            ..doubt.stamp
        }
    };
    let known = doubt.known.filter(|known| known.hash == hash(&bytes));
    Some(match known {
        Some(known) if known.stamp == stamp => Arc::clone(known),
        Some(known) => Arc::new(IndexedFile {
            stamp,
            ..IndexedFile::clone(known)
        }),
        None => Arc::new(IndexedFile::new(doubt.path.clone(), stamp, &bytes)),
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn refreshed(index: &SearchIndex) -> RefreshedIndex {
        index.refreshed(&CancellationToken::new(), &|_| {}).unwrap()
    }

    #[test]
    fn only_what_changed_is_read_anew() {
        let root = tempfile::tempdir().unwrap();
        let put = |name: &str, text: &str| fs::write(root.path().join(name), text).unwrap();
        put("a.rs", "fn a() {}\n");
        put("b.rs", "fn b() {}\n");
        let first = refreshed(&SearchIndex::empty(root.path(), FileSource::PLAIN));
        assert_eq!((first.changes, first.index.files.len()), (2, 2));
        let same = refreshed(&first.index);
        assert_eq!(same.changes, 0);
        assert!(
            same.index
                .files
                .iter()
                .zip(&first.index.files)
                .all(|(one, other)| Arc::ptr_eq(one, other))
        );
        put("b.rs", "fn c() {}\n");
        put("d.rs", "fn d() {}\n");
        let second = refreshed(&first.index);
        assert_eq!(second.changes, 3, "one content gone, two new");
        assert!(Arc::ptr_eq(&second.index.files[0], &first.index.files[0]));
        fs::remove_file(root.path().join("a.rs")).unwrap();
        let third = refreshed(&second.index);
        assert_eq!((third.changes, third.index.files.len()), (1, 2));
    }

    #[test]
    fn a_stamp_that_is_old_enough_spares_the_reading() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("a.rs"), "fn a() {}\n").unwrap();
        let index = refreshed(&SearchIndex::empty(root.path(), FileSource::PLAIN)).index;
        assert_eq!(
            index.files[0].stamp.changed, UNPROVEN,
            "it was written a moment ago"
        );
        let found = scan_files(root.path(), FileSource::PLAIN, &CancellationToken::new())
            .unwrap()
            .files
            .remove(0);
        let proven = IndexedFile {
            stamp: found.1,
            hash: [0; 16],
            ..IndexedFile::clone(&index.files[0])
        };
        let proven = SearchIndex {
            files: vec![Arc::new(proven)],
            ..SearchIndex::empty(root.path(), FileSource::PLAIN)
        };
        assert_eq!(
            refreshed(&proven).index.files[0].hash,
            [0; 16],
            "its content was not looked at"
        );
    }
}

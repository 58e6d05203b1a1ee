//! Cache of search indexes: a few roots in memory, and files on disk if there is a cache directory.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::SystemTime,
};

use tokio_util::sync::CancellationToken;

use super::{file_source::FileSource, index::SearchIndex, index_file};

/// Roots kept in memory: a project, a worktree or two, a library that is looked up.
const ROOTS: usize = 4;

/// An index is saved again when one in so many of its files has changed. Later changes are found by the refresh after
/// the file is loaded.
const SHARE: usize = 50;

/// Files in the cache directory; those not used for longest are removed.
const KEPT: usize = 32;

/// The indexes of one tool.
pub(super) struct IndexCache {
    directory: Option<PathBuf>,
    source: FileSource,
    /// The one used last is last.
    roots: Mutex<Vec<Arc<CachedIndex>>>,
}

/// The index of one root. The lock is held while it is refreshed, so that two calls at the same
/// time do not both read every file.
struct CachedIndex {
    root: PathBuf,
    held: Mutex<CachedIndexState>,
}

#[derive(Default)]
struct CachedIndexState {
    index: Option<Arc<SearchIndex>>,
    /// Changes that are not on disk.
    unsaved: usize,
}

impl IndexCache {
    /// A cache that keeps index files in a directory; none: in memory only.
    pub fn new(directory: Option<PathBuf>, source: FileSource) -> Self {
        Self {
            directory,
            source,
            roots: Mutex::new(Vec::new()),
        }
    }

    /// The index of a root as the disk is now. None if it was cancelled.
    pub fn index(
        &self,
        root: &Path,
        cancel: &CancellationToken,
        progress: &dyn Fn(&str),
    ) -> Option<Arc<SearchIndex>> {
        let slot = self.slot(root);
        let mut held = slot.held.lock().unwrap_or_else(PoisonError::into_inner);
        let old = match &held.index {
            Some(index) => index.clone(),
            None => Arc::new(
                self.load(root)
                    .unwrap_or_else(|| SearchIndex::empty(root, self.source)),
            ),
        };
        let refreshed = old.refreshed(cancel, progress)?;
        let index = Arc::new(refreshed.index);
        held.index = Some(index.clone());
        held.unsaved += refreshed.changes;
        if held.unsaved > 0 && held.unsaved.saturating_mul(SHARE) >= index.files.len() {
            held.unsaved = 0;
            self.save(&index);
        }
        Some(index)
    }

    /// How files are found and opened.
    pub fn source(&self) -> FileSource {
        self.source
    }

    /// The cache file for a root; none without a cache directory.
    pub fn place(&self, root: &Path, ending: &str) -> Option<PathBuf> {
        Some(index_file::place(self.directory.as_deref()?, root, ending))
    }

    fn slot(&self, root: &Path) -> Arc<CachedIndex> {
        let mut roots = self.roots.lock().unwrap_or_else(PoisonError::into_inner);
        let known = roots
            .iter()
            .position(|slot| slot.root == root)
            .map(|at| roots.remove(at));
        let slot = known.unwrap_or_else(|| {
            Arc::new(CachedIndex {
                root: root.to_owned(),
                held: Mutex::default(),
            })
        });
        roots.push(slot.clone());
        let surplus = roots.len().saturating_sub(ROOTS);
        roots.drain(..surplus);
        slot
    }

    fn load(&self, root: &Path) -> Option<SearchIndex> {
        index_file::load(&self.place(root, "index")?, root, self.source)
    }

    /// Errors are ignored: without the file, the index in memory is still used.
    fn save(&self, index: &SearchIndex) {
        if let Some(place) = self.place(&index.root, "index")
            && index_file::save(&place, index).is_ok()
        {
            place.parent().into_iter().for_each(tidy);
        }
    }
}

/// Removes the oldest cache files, and only our own.
fn tidy(directory: &Path) {
    let is_ours = |path: &PathBuf| {
        path.extension()
            .is_some_and(|end| end == "index" || end == "vectors")
    };
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut files: Vec<(SystemTime, PathBuf)> = entries
        .filter(|entry| is_ours(&entry.path()))
        .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
        .collect();
    files.sort_unstable();
    let surplus = files.len().saturating_sub(KEPT);
    for (_, path) in files.iter().take(surplus) {
        let _ = fs::remove_file(path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::indexed_file::IndexedFile;

    fn index(shelf: &IndexCache, root: &Path) -> Arc<SearchIndex> {
        shelf
            .index(root, &CancellationToken::new(), &|_| {})
            .unwrap()
    }

    #[test]
    fn what_is_kept_on_disk_is_what_is_used() {
        let (root, cache) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(root.path().join("a.rs"), "fn a() {}\n").unwrap();
        let shelf = || IndexCache::new(Some(cache.path().to_owned()), FileSource::PLAIN);
        let made = index(&shelf(), root.path());
        let marked = IndexedFile {
            pieces: Vec::new(),
            ..IndexedFile::clone(&made.files[0])
        };
        let marked = SearchIndex {
            files: vec![Arc::new(marked)],
            ..SearchIndex::empty(root.path(), FileSource::PLAIN)
        };
        index_file::save(&shelf().place(root.path(), "index").unwrap(), &marked).unwrap();
        assert!(index(&shelf(), root.path()).files[0].pieces.is_empty());
    }

    #[test]
    fn roots_in_memory_and_files_on_disk_are_few() {
        let (root, cache) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let shelf = IndexCache::new(Some(cache.path().to_owned()), FileSource::PLAIN);
        fs::write(cache.path().join("somebody.else"), "").unwrap();
        for n in 0..KEPT + 3 {
            let place = root.path().join(n.to_string());
            fs::create_dir(&place).unwrap();
            fs::write(place.join("a.rs"), "fn a() {}\n").unwrap();
            index(&shelf, &place);
        }
        assert_eq!(shelf.roots.lock().unwrap().len(), ROOTS);
        assert_eq!(fs::read_dir(cache.path()).unwrap().count(), KEPT + 1);
    }
}

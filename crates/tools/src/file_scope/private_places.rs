//! Private and hidden places, with links followed once: for the file scope and for our own directories.

use std::{
    collections::HashSet,
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

use rooftree_process::sandbox::{MachinePaths, home};

use crate::resolved_path;

/// Directories that a confined command does not see, besides homes: it has its own.
const ELSEWHERE: [&str; 4] = ["/dev", "/tmp", "/var/tmp", "/run"];

/// Files of the kernel that tell about more than the process that reads them.
const KERNEL: [&str; 4] = ["kcore", "kmsg", "keys", "key-users"];

/// How many entries of private places are looked at, and how deep, for links and for hard links.
const ENTRIES: usize = 4_000;
const DEPTH: usize = 3;

/// Directories of our own that hold copies of other trees and what can be made again.
const BULK: [&str; 4] = ["workspaces", "scratch", "search", "calls"];

/// The places, found out when they are first needed. Cheap to clone; copies know the same.
#[derive(Clone, Debug, Default)]
pub struct LazyPrivatePlaces(Arc<OnceLock<PrivatePlaces>>);

impl LazyPrivatePlaces {
    /// Those of a user with this home, whatever the environment says.
    pub fn at(home: &Path, own: &[PathBuf]) -> Self {
        Self(Arc::new(OnceLock::from(PrivatePlaces::new(
            Some(home),
            own,
        ))))
    }

    /// The places of this machine and these directories of our own.
    pub(crate) fn of(&self, own: &[PathBuf]) -> PrivatePlaces {
        self.0
            .get_or_init(|| PrivatePlaces::new(home().as_deref(), own))
            .clone()
    }
}

/// Real paths of what is hidden, private and shown.
#[derive(Clone, Debug)]
pub(crate) struct PrivatePlaces(Arc<PrivatePlacesInner>);

#[derive(Debug)]
struct PrivatePlacesInner {
    own: Vec<PathBuf>,
    private: Vec<PathBuf>,
    hidden: Vec<PathBuf>,
    shown: Vec<PathBuf>,
    /// Device and inode of every private file, for files with several names.
    files: OnceLock<HashSet<(u64, u64)>>,
}

impl PrivatePlaces {
    /// Follows the links of all of them, those inside of private places too: settings are often links into a
    /// repository of dotfiles.
    pub fn new(home: Option<&Path>, own: &[PathBuf]) -> Self {
        let MachinePaths {
            homes,
            private,
            readable,
        } = MachinePaths::of(home);
        let real = |paths: Vec<PathBuf>| -> Vec<PathBuf> {
            paths
                .iter()
                .map(|path| resolved_path::real_path(path))
                .filter(|path| path != Path::new("/"))
                .collect()
        };
        let own = with_targets(real(own.to_vec()));
        let mut private = with_targets(real(private));
        private.extend(own.iter().cloned());
        let hidden = real(
            homes
                .into_iter()
                .chain(ELSEWHERE.map(PathBuf::from))
                .collect(),
        );
        Self(Arc::new(PrivatePlacesInner {
            own,
            private,
            hidden,
            shown: real(readable),
            files: OnceLock::new(),
        }))
    }

    /// The directories of our own, and what links in them lead to.
    pub fn own(&self) -> &[PathBuf] {
        &self.0.own
    }

    /// The longest private place that a path is in.
    pub fn private_place(&self, path: &Path) -> Option<PathBuf> {
        let listed = self
            .0
            .private
            .iter()
            .filter(|place| path.starts_with(place));
        listed
            .max_by_key(|place| place.components().count())
            .cloned()
            .or_else(|| of_process(path))
    }

    /// Whether a confined command can read a path that is not private.
    pub fn is_shown(&self, path: &Path) -> bool {
        let longest = |places: &[PathBuf]| {
            let around = places.iter().filter(|place| path.starts_with(place));
            around.map(|place| place.components().count()).max()
        };
        longest(&self.0.hidden).is_none_or(|hidden| longest(&self.0.shown) >= Some(hidden))
    }

    /// Whether something hidden or private lies below a directory.
    pub fn has_more_below(&self, directory: &Path) -> bool {
        let mut all = self.0.private.iter().chain(&self.0.hidden);
        all.any(|place| place != directory && place.starts_with(directory))
    }

    /// Whether a file is in a private place under any of its names.
    pub fn holds_file(&self, device: u64, inode: u64) -> bool {
        let files = self.0.files.get_or_init(|| {
            let all = self.0.private.iter().flat_map(|place| entries(place));
            let found = all
                .filter_map(|path| fs::symlink_metadata(path).ok())
                .filter(fs::Metadata::is_file);
            found.map(|found| (found.dev(), found.ino())).collect()
        });
        files.contains(&(device, inode))
    }
}

/// The directory of a process, or a file of the kernel about all of them.
fn of_process(path: &Path) -> Option<PathBuf> {
    let name = path
        .strip_prefix("/proc")
        .ok()?
        .components()
        .next()?
        .as_os_str();
    let is_process = name.as_encoded_bytes().iter().all(u8::is_ascii_digit);
    let is_own = name == "self" || name == "thread-self";
    (is_process || is_own || KERNEL.iter().any(|file| name == *file))
        .then(|| Path::new("/proc").join(name))
}

/// Places, and where the links in them lead.
fn with_targets(mut places: Vec<PathBuf>) -> Vec<PathBuf> {
    let inside = places.iter().flat_map(|place| entries(place));
    let links =
        inside.filter(|path| fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink()));
    let targets: Vec<PathBuf> = links.map(|link| resolved_path::real_path(&link)).collect();
    let is_system = |path: &PathBuf| {
        ["/usr", "/etc", "/lib", "/bin"]
            .iter()
            .any(|place| path.starts_with(place))
    };
    places.extend(
        targets
            .into_iter()
            .filter(|target| !is_system(target) && target.parent().is_some()),
    );
    places.sort();
    places.dedup();
    places
}

/// What is at a place and below it, as far as it is looked at.
fn entries(place: &Path) -> Vec<PathBuf> {
    let mut found = vec![place.to_owned()];
    let mut next = vec![(place.to_owned(), DEPTH)];
    while let Some((directory, depth)) = next.pop() {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            if found.len() >= ENTRIES {
                return found;
            }
            let is_bulk = BULK.iter().any(|bulk| entry.file_name() == *bulk);
            if depth > 1 && !is_bulk && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                next.push((entry.path(), depth - 1));
            }
            found.push(entry.path());
        }
    }
    found
}

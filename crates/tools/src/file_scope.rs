//! The file scope: files that a session's file tools may access without a permission rule.
//!
//! File tools read what a confined command of the same session could read: the working directory, roots
//! granted by settings, system directories, toolchains. Everything else is outside, and private places
//! (keys, credentials, browser profiles, our own directories, other processes) need a rule that names them.
//! All paths compared here are real paths: links are followed before.

mod private_places;

use std::path::{Path, PathBuf};

use rooftree_process::sandbox::private_in_homes;
use rooftree_protocol::Reading;

pub use private_places::LazyPrivatePlaces;
pub(crate) use private_places::PrivatePlaces;

use crate::resolved_path;

/// Access level of a path in the scope, ordered by the trust needed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FileAccess {
    /// Reading needs no rule.
    Free,
    /// Neither in the working directory nor in what a confined command can read.
    Outside,
    /// In this private place.
    Private(PathBuf),
}

/// The file scope of a session. Without bounds until it is made of how the session is confined.
#[derive(Clone, Debug, Default)]
pub struct FileScope {
    /// What is known about the machine and our own directories; none: no bounds.
    known: Option<PrivatePlaces>,
    /// The working directory and all that is granted besides, as real paths.
    granted: Vec<PathBuf>,
    /// Whether what commands can read counts.
    reading: Reading,
    /// The directory tree that the working directory is a copy of, and the root of the copy.
    copy: Option<(PathBuf, PathBuf)>,
}

/// A path that a session with a working copy must not reach by the name it has in the original tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CopyEscape {
    /// It lies in the original tree; this is the same path in the copy.
    Original(PathBuf),
    /// It lies elsewhere outside the copy.
    Elsewhere,
}

impl FileScope {
    /// The scope around some granted directories, the working directory among them.
    pub(crate) fn new(
        known: PrivatePlaces,
        granted: impl IntoIterator<Item = PathBuf>,
        reading: Reading,
    ) -> Self {
        let granted = granted
            .into_iter()
            .map(|path| resolved_path::real_path(&path))
            .collect();
        Self {
            known: Some(known),
            granted,
            reading,
            copy: None,
        }
    }

    /// The same for a session that works in a copy of another directory tree.
    #[must_use]
    pub(crate) fn in_copy(self, copy: Option<(PathBuf, PathBuf)>) -> Self {
        let real = |(origin, root): (PathBuf, PathBuf)| {
            (
                resolved_path::real_path(&origin),
                resolved_path::real_path(&root),
            )
        };
        Self {
            copy: copy.map(real),
            ..self
        }
    }

    /// Access to a real path. The longest entry that contains it decides; on a tie, a grant wins.
    pub fn access(&self, path: &Path) -> FileAccess {
        let Some(known) = &self.known else {
            return FileAccess::Free;
        };
        let granted = self.granted.iter().filter(|place| path.starts_with(place));
        let granted = granted.map(|place| steps(place)).max();
        if let Some(place) = known.private_place(path)
            && granted.is_none_or(|granted| granted < steps(&place))
        {
            return FileAccess::Private(place);
        }
        if granted.is_none()
            && let Some(place) = private_in_homes(path)
        {
            return FileAccess::Private(place);
        }
        match granted {
            Some(granted) if !self.is_in_original(path, granted) => FileAccess::Free,
            Some(_) => FileAccess::Outside,
            None if self.is_in_original(path, 0) => FileAccess::Outside,
            None if self.reading == Reading::OnlyHere => FileAccess::Outside,
            None if known.is_shown(path) => FileAccess::Free,
            None => FileAccess::Outside,
        }
    }

    /// Whether the session may touch nothing outside its directory, whatever the mode.
    pub(crate) fn is_only_here(&self) -> bool {
        self.known.is_some() && self.reading == Reading::OnlyHere
    }

    /// How a path leads out of the session's working copy; none if it does not, or there is no copy.
    pub(crate) fn escape(&self, path: &Path) -> Option<CopyEscape> {
        let (origin, root) = self.copy.as_ref()?;
        let is_granted = self.granted.iter().any(|place| path.starts_with(place));
        if path.starts_with(root) {
            return None;
        }
        match path.strip_prefix(origin) {
            Ok(inside) => Some(CopyEscape::Original(root.join(inside))),
            Err(_) if is_granted => None,
            Err(_) => Some(CopyEscape::Elsewhere),
        }
    }

    /// Whether anything below a directory may need more trust than the directory itself.
    pub(crate) fn is_divided_below(&self, directory: &Path) -> bool {
        let Some(known) = &self.known else {
            return false;
        };
        let homes = ["/home", "/root"].map(Path::new);
        known.has_more_below(directory)
            || homes.iter().any(|home| home.starts_with(directory))
            || (directory.starts_with("/home")
                && steps(directory) < 4
                && !self.is_granted(directory))
            || self
                .copy
                .as_ref()
                .is_some_and(|(origin, _)| origin.starts_with(directory))
    }

    /// Whether a file is one of the private ones under another name, made by a hard link.
    pub(crate) fn is_private_file(&self, device: u64, inode: u64) -> bool {
        self.known
            .as_ref()
            .is_some_and(|known| known.holds_file(device, inode))
    }

    fn is_granted(&self, path: &Path) -> bool {
        self.granted.iter().any(|place| path.starts_with(place))
    }

    /// The original tree is outside for a session that works in a copy of it, but for deeper grants.
    fn is_in_original(&self, path: &Path, granted: usize) -> bool {
        let is_it = |(origin, root): &(PathBuf, PathBuf)| {
            path.starts_with(origin) && !path.starts_with(root) && granted <= steps(origin)
        };
        self.copy.as_ref().is_some_and(is_it)
    }
}

impl FileAccess {
    /// Whether this needs more trust than another one.
    pub(crate) fn exceeds(&self, other: &Self) -> bool {
        let level = |access: &Self| match access {
            Self::Free => 0,
            Self::Outside => 1,
            Self::Private(_) => 2,
        };
        level(self) > level(other)
    }
}

fn steps(path: &Path) -> usize {
    path.components().count()
}

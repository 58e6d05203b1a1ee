//! The reach of a call: the path it was judged by, minus what rules exclude.
//!
//! A policy judges a path, and a tool opens it some time later. Between the two, another process may put a link where
//! a directory was. So links are followed once, before the policy judges ([`ResolvedPath`]), and exactly that path is
//! opened afterwards, by calls that refuse every link on the way (`nofollow_open.rs`). A tool accesses files only
//! through a [`FileTarget`] of its reach.

mod denied;
mod directory;
mod nofollow_open;
mod prior;
mod remove;
pub mod restore;
mod save;
mod target;

use std::{
    fs::Metadata,
    os::unix::fs::MetadataExt,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use crate::{
    file_scope::{FileAccess, FileScope},
    resolved_path::ResolvedPath,
};

pub use denied::DeniedPaths;
pub(crate) use denied::is_plain;
pub(crate) use directory::{DirectoryStatCache, OpenDirectory, is_directory};
pub(crate) use nofollow_open::{read, read_within};
pub use prior::{FileBefore, content_before};
pub(crate) use target::FileTarget;

/// The files that one call may access. The default is none. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct CallReach(Arc<CallReachInner>);

#[derive(Debug, Default)]
struct CallReachInner {
    pinned: Option<ResolvedPath>,
    denied: DeniedPaths,
    scope: FileScope,
    /// What the scope says about the place itself; none if nothing below it needs more trust.
    level: Option<FileAccess>,
    /// Entries that a walk left out because a rule denies them.
    left_out: AtomicUsize,
    /// Those of them that the scope keeps from this call.
    beyond_scope: AtomicUsize,
}

impl CallReach {
    /// A place, less what is denied; [`crate::Policy::reach`] makes it of what is to be judged.
    pub(crate) fn new(pinned: ResolvedPath, denied: DeniedPaths, scope: FileScope) -> Self {
        let is_divided = scope.is_divided_below(&pinned.real);
        let level = is_divided.then(|| scope.access(&pinned.real));
        Self(Arc::new(CallReachInner {
            pinned: Some(pinned),
            denied,
            scope,
            level,
            ..CallReachInner::default()
        }))
    }

    /// Which files the session may touch without a rule.
    pub fn scope(&self) -> &FileScope {
        &self.0.scope
    }

    /// The place the call is about, if it is about one.
    pub fn pinned(&self) -> Option<&ResolvedPath> {
        self.0.pinned.as_ref()
    }

    /// Whether any rule keeps anything from this call.
    pub(crate) fn is_limited(&self) -> bool {
        !self.0.denied.is_empty() || self.0.level.is_some()
    }

    /// Whether no rule denies a path or a directory above it, and it needs no more trust than the place the
    /// call was judged by.
    pub(crate) fn admits(&self, path: &Path) -> bool {
        !self.0.denied.covers(path) && self.is_in_scope(path)
    }

    /// The same for an entry of a directory that is admitted; counts what is not.
    pub(crate) fn admits_entry(&self, path: &Path) -> bool {
        let is_in_scope = self.is_in_scope(path);
        if !is_in_scope {
            self.0.beyond_scope.fetch_add(1, Ordering::Relaxed);
        }
        self.counted(is_in_scope && !self.0.denied.names(path))
    }

    /// Whether a path that this call did not name may be told to it: what a link leads to.
    pub(crate) fn admits_elsewhere(&self, path: &Path) -> bool {
        !self.0.denied.covers(path) && !matches!(self.0.scope.access(path), FileAccess::Private(_))
    }

    /// Whether an opened file may be read: not if it is a private file under another name.
    ///
    /// Invariant: a hard link to a private file is as private as the file.
    pub(crate) fn admits_file(&self, file: &Metadata) -> bool {
        let is_judged_private = || {
            self.pinned()
                .is_some_and(|at| matches!(self.0.scope.access(&at.real), FileAccess::Private(_)))
        };
        file.nlink() < 2
            || !self.0.scope.is_private_file(file.dev(), file.ino())
            || is_judged_private()
    }

    fn is_in_scope(&self, path: &Path) -> bool {
        self.0
            .level
            .as_ref()
            .is_none_or(|level| !self.0.scope.access(path).exceeds(level))
    }

    /// The same for an entry of a list, whatever it is in.
    pub(crate) fn admits_listed(&self, path: &Path) -> bool {
        self.counted(self.admits(path))
    }

    fn counted(&self, is_admitted: bool) -> bool {
        if !is_admitted {
            self.0.left_out.fetch_add(1, Ordering::Relaxed);
        }
        is_admitted
    }

    /// How many entries were left out.
    pub(crate) fn left_out(&self) -> usize {
        self.0.left_out.load(Ordering::Relaxed)
    }

    /// Notice that something was left out, without naming it; none if nothing was.
    pub(crate) fn notice(&self) -> Option<String> {
        match self.left_out() {
            0 => None,
            count if self.0.beyond_scope.load(Ordering::Relaxed) > 0 => Some(format!(
                "[not shown: {count} that a rule denies, that are private, or that are outside; a rule that names them would show them]"
            )),
            1 => Some("[1 entry not shown: a rule denies it]".to_owned()),
            count => Some(format!("[{count} entries not shown: a rule denies them]")),
        }
    }
}

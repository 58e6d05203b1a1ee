//! What one call may touch: the place it was judged by, less what rules keep from it.
//!
//! A policy judges a path, and a tool opens it some time later. Between the two somebody may put a
//! link where a directory was. So the links are followed once, before the policy judges
//! (`place::Pinned`), and what is opened afterwards is that very path, by calls that refuse every
//! link on the way (`opened.rs`). A tool has no other way to files than a [`Target`] of its reach.

mod denied;
mod directory;
mod opened;
mod remove;
mod save;
mod target;

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use crate::place::Pinned;

pub use denied::DeniedPaths;
pub(crate) use denied::is_plain;
pub(crate) use directory::{Directory, Neighbours, is_directory};
pub(crate) use opened::read;
pub(crate) use target::Target;

/// What one call may touch. Nothing, until it is made of what was judged. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Reach(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    pinned: Option<Pinned>,
    denied: DeniedPaths,
    /// Entries that a walk left out because a rule denies them.
    left_out: AtomicUsize,
}

impl Reach {
    /// A place, less what is denied; [`crate::Policy::reach`] makes it of what is to be judged.
    pub(crate) fn new(pinned: Pinned, denied: DeniedPaths) -> Self {
        Self(Arc::new(Inner { pinned: Some(pinned), denied, left_out: AtomicUsize::new(0) }))
    }

    /// The place the call is about, if it is about one.
    pub fn pinned(&self) -> Option<&Pinned> {
        self.0.pinned.as_ref()
    }

    /// Whether any rule keeps anything from this call.
    pub(crate) fn is_limited(&self) -> bool {
        !self.0.denied.is_empty()
    }

    /// Whether no rule denies a path or a directory above it.
    pub(crate) fn admits(&self, path: &Path) -> bool {
        !self.0.denied.covers(path)
    }

    /// The same for an entry of a directory that is admitted; counts what is not.
    pub(crate) fn admits_entry(&self, path: &Path) -> bool {
        self.counted(!self.0.denied.names(path))
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

    /// That something was left out, without saying what; none if nothing was.
    pub(crate) fn notice(&self) -> Option<String> {
        match self.left_out() {
            0 => None,
            1 => Some("[1 entry not shown: a rule denies it]".to_owned()),
            count => Some(format!("[{count} entries not shown: a rule denies them]")),
        }
    }
}

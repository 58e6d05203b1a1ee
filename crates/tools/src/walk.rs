//! Walks directories the way search tools do: ignore files honoured, `.git` left out.

use std::{path::Path, thread::available_parallelism};

use ignore::{DirEntry, WalkBuilder};

use crate::{CallReach, resolved_path};

/// What is left out of a walk.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum WalkExclusion {
    /// What ignore files name.
    Ignored,
    /// Nothing.
    Nothing,
}

/// A walk below `root` that leaves out what rules keep from a call.
pub(crate) fn within(reach: &CallReach, root: &Path, hiding: WalkExclusion) -> WalkBuilder {
    let mut builder = walk(root, hiding);
    if reach.is_limited() {
        let reach = reach.clone();
        builder.filter_entry(move |entry| {
            is_walked(entry, hiding) && (entry.depth() == 0 || reach.admits_entry(entry.path()))
        });
    }
    builder
}

/// A walk below `root`. Hidden files are part of it: much of a project is configured there.
pub(crate) fn walk(root: &Path, hiding: WalkExclusion) -> WalkBuilder {
    let mut builder = WalkBuilder::new(root);
    builder
        .standard_filters(hiding == WalkExclusion::Ignored)
        .hidden(false)
        .require_git(false)
        .follow_links(false);
    builder.filter_entry(move |entry| is_walked(entry, hiding));
    let threads = available_parallelism().map_or(2, |cores| cores.get().clamp(2, 12));
    builder.threads(threads);
    builder
}

/// Whether a walk looks at an entry. What programs are doing is not searched.
fn is_walked(entry: &DirEntry, hiding: WalkExclusion) -> bool {
    match entry.depth() {
        0 => true,
        1 if entry.path() == "/proc" => false,
        _ => hiding == WalkExclusion::Nothing || entry.file_name() != ".git",
    }
}

/// A path as a model should see it: relative where that is shorter, and always one line.
pub(crate) fn shown(path: &Path, cwd: &Path) -> String {
    let inside = path
        .strip_prefix(cwd)
        .ok()
        .filter(|inside| !inside.as_os_str().is_empty());
    resolved_path::one_line(&inside.unwrap_or(path).to_string_lossy())
}

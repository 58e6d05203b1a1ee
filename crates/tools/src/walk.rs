//! Walks directories the way search tools do: ignore files honoured, `.git` left out.

use std::{
    path::{Path, PathBuf},
    thread::available_parallelism,
};

use ignore::WalkBuilder;

use crate::lexical::lexical;

/// What is left out of a walk.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hiding {
    /// What ignore files name.
    Ignored,
    /// Nothing.
    Nothing,
}

/// A walk below `root`. Hidden files are part of it: much of a project is configured there.
pub(crate) fn walk(root: &Path, hiding: Hiding) -> WalkBuilder {
    let mut builder = WalkBuilder::new(root);
    builder.standard_filters(hiding == Hiding::Ignored).hidden(false).require_git(false).follow_links(false);
    if hiding == Hiding::Ignored {
        builder.filter_entry(|entry| entry.depth() == 0 || entry.file_name() != ".git");
    }
    let threads = available_parallelism().map_or(2, |cores| cores.get().clamp(2, 12));
    builder.threads(threads);
    builder
}

/// A path as a model should see it: relative where that is shorter.
pub(crate) fn shown(path: &Path, cwd: &Path) -> String {
    let inside = path.strip_prefix(cwd).ok().filter(|inside| !inside.as_os_str().is_empty());
    inside.unwrap_or(path).to_string_lossy().into_owned()
}

/// The directory a search starts in: what was asked for, or the working directory.
pub(crate) fn root(path: &str, cwd: &Path) -> PathBuf {
    lexical(&cwd.join(path))
}

//! Finds git's own directories of a working tree, without running git.

use std::{
    ffi::OsStr,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

/// Where the git directory of a working tree is: inside it, or where a file there says.
pub(super) fn git_directory(top: &Path) -> Option<PathBuf> {
    let inside = top.join(".git");
    if inside.is_dir() {
        return Some(inside);
    }
    let said = std::fs::read(&inside).ok()?;
    let path = said.strip_prefix(b"gitdir: ")?;
    let path = path.strip_suffix(b"\n").unwrap_or(path);
    Some(top.join(OsStr::from_bytes(path)))
}

/// What all working trees of a repository have in common, found without asking git.
pub(super) fn common_directory(top: &Path) -> Option<PathBuf> {
    let own = git_directory(top)?;
    let common = match std::fs::read(own.join("commondir")) {
        Ok(said) => own.join(OsStr::from_bytes(said.strip_suffix(b"\n").unwrap_or(&said))),
        Err(_) => own,
    };
    common.canonicalize().ok()
}

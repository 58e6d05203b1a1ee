//! Lays the files of a merged tree out on the disk, ready to be landed.

use std::{
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use rooftree_protocol::Problem;

use super::{git::Git, raw_diff::Version, scratch::Scratch};

/// A file to lay out.
#[derive(Clone, Debug)]
pub(super) struct Wanted {
    pub path: PathBuf,
    pub version: Version,
}

/// Where a file lies after [`lay_out`].
pub(super) fn path_of(scratch: &Scratch, path: &Path) -> PathBuf {
    directory(scratch).join(path)
}

fn directory(scratch: &Scratch) -> PathBuf {
    scratch.path().join("files")
}

/// Writes the files the way git would check them out in this working tree: line ends, filters, modes.
pub(super) async fn lay_out(top: &Path, scratch: &Scratch, wanted: &[Wanted]) -> Result<(), Problem> {
    if wanted.is_empty() {
        return Ok(());
    }
    let index = scratch.path().join("staging-index");
    let mut list = Vec::new();
    for Wanted { path, version } in wanted {
        list.extend_from_slice(format!("{} {}\t", version.mode, version.object).as_bytes());
        list.extend_from_slice(path.as_os_str().as_bytes());
        list.push(0);
    }
    Git::at(top).index(&index).args(["update-index", "-z", "--index-info"]).input(list).succeed().await?;
    let prefix = format!("--prefix={}/", directory(scratch).to_string_lossy());
    Git::at(top).index(&index).args(["checkout-index", "--all", "--force", &prefix]).succeed().await?;
    Ok(())
}

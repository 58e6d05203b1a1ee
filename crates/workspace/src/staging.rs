//! Writes the files of a merged tree to a scratch directory, ready to replace the originals.

use std::{
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use rooftree_protocol::Problem;

use super::{git::GitCommand, raw_diff::TreeFile, scratch::ScratchDir};

/// A file to lay out.
#[derive(Clone, Debug)]
pub(super) struct StagedFile {
    pub path: PathBuf,
    pub version: TreeFile,
}

/// Where a file lies after [`lay_out`].
pub(super) fn path_of(scratch: &ScratchDir, path: &Path) -> PathBuf {
    directory(scratch).join(path)
}

fn directory(scratch: &ScratchDir) -> PathBuf {
    scratch.path().join("files")
}

/// Writes the files the way git would check them out in this working tree: line ends, filters, modes.
pub(super) async fn lay_out(
    top: &Path,
    scratch: &ScratchDir,
    wanted: &[StagedFile],
) -> Result<(), Problem> {
    if wanted.is_empty() {
        return Ok(());
    }
    let index = scratch.path().join("staging-index");
    let mut list = Vec::new();
    for StagedFile { path, version } in wanted {
        list.extend_from_slice(format!("{} {}\t", version.mode, version.object).as_bytes());
        list.extend_from_slice(path.as_os_str().as_bytes());
        list.push(0);
    }
    GitCommand::at(top)
        .index(&index)
        .args(["update-index", "-z", "--index-info"])
        .input(list)
        .succeed()
        .await?;
    let prefix = format!("--prefix={}/", directory(scratch).to_string_lossy());
    GitCommand::at(top)
        .index(&index)
        .args(["checkout-index", "--all", "--force", &prefix])
        .succeed()
        .await?;
    Ok(())
}

//! Other repositories inside a working tree: their files are not part of snapshots, so work in
//! them must be seen in another way.

use std::{
    ffi::OsStr,
    fs,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use rooftree_protocol::Problem;

use super::git::Git;

/// Inner repositories that hold files no snapshot can hold.
pub(super) async fn with_work(top: &Path, index: &Path) -> Result<Vec<PathBuf>, Problem> {
    let output = Git::at(top).index(index).args(["ls-files", "--stage", "-z"]).succeed().await?;
    let mut found = Vec::new();
    for path in output.split(|byte| *byte == 0).filter_map(inner_repository) {
        if has_work(&top.join(&path)).await? {
            found.push(path);
        }
    }
    Ok(found)
}

fn inner_repository(line: &[u8]) -> Option<PathBuf> {
    let rest = line.strip_prefix(b"160000 ")?;
    let path = rest.splitn(2, |byte| *byte == b'\t').nth(1)?;
    Some(OsStr::from_bytes(path).into())
}

/// An empty directory has none; one with a repository has what git calls changed; any other has.
async fn has_work(directory: &Path) -> Result<bool, Problem> {
    let is_empty = fs::read_dir(directory).map_or(true, |mut entries| entries.next().is_none());
    if is_empty {
        return Ok(false);
    }
    if !directory.join(".git").exists() {
        return Ok(true);
    }
    let status = ["status", "--porcelain", "-z", "--untracked-files=normal"];
    Ok(!Git::at(directory).args(status).succeed().await?.is_empty())
}

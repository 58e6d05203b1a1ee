//! Other repositories inside a working tree. Their files are not part of snapshots, and git must
//! not run in them: a child can write their settings, and settings can name programs to run.

use std::{
    ffi::OsStr,
    fs,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use rooftree_protocol::Problem;

use super::{errors, git::GitCommand};

/// An inner repository's place that is not empty.
#[derive(Clone, Debug)]
pub(super) struct InnerRepository {
    pub path: PathBuf,
    /// Whether there is a repository; else someone laid files where one belongs.
    pub is_repository: bool,
}

/// The places of inner repositories that an index names and that hold something.
pub(super) async fn populated(top: &Path, index: &Path) -> Result<Vec<InnerRepository>, Problem> {
    let output = GitCommand::at(top)
        .index(index)
        .args(["ls-files", "--stage", "-z"])
        .succeed()
        .await?;
    let paths = output.split(|byte| *byte == 0).filter_map(inner_repository);
    let inner = paths.filter(|path| !is_empty(&top.join(path))).map(|path| {
        let is_repository = top.join(&path).join(".git").exists();
        InnerRepository {
            path,
            is_repository,
        }
    });
    Ok(inner.collect())
}

fn inner_repository(line: &[u8]) -> Option<PathBuf> {
    let rest = line.strip_prefix(b"160000 ")?;
    let path = rest.splitn(2, |byte| *byte == b'\t').nth(1)?;
    Some(OsStr::from_bytes(path).into())
}

/// What cannot be looked at counts as full, unless it is not there.
fn is_empty(directory: &Path) -> bool {
    fs::read_dir(directory).map_or_else(
        |_| fs::symlink_metadata(directory).is_err(),
        |mut entries| entries.next().is_none(),
    )
}

/// Whether git is to look into inner repositories when it takes a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SubmoduleScan {
    Inside,
    Away,
}

/// Marks inner repositories in an index that is ours, so that git looks into them or away.
pub(super) async fn mark(
    top: &Path,
    index: &Path,
    inner: &[InnerRepository],
    look: SubmoduleScan,
) -> Result<(), Problem> {
    if inner.is_empty() {
        return Ok(());
    }
    let mut list = Vec::new();
    for inner in inner {
        list.extend_from_slice(inner.path.as_os_str().as_bytes());
        list.push(0);
    }
    let how = if look == SubmoduleScan::Away {
        "--skip-worktree"
    } else {
        "--no-skip-worktree"
    };
    let command = GitCommand::at(top)
        .index(index)
        .args(["update-index", how, "-z", "--stdin"]);
    command.input(list).succeed().await.map(|_| ())
}

/// In a sparse checkout git unmarks what it finds on the disk, so it cannot be made to look away.
pub(super) async fn check_not_sparse(top: &Path, inner: &[InnerRepository]) -> Result<(), Problem> {
    let Some(first) = inner.iter().find(|inner| inner.is_repository) else {
        return Ok(());
    };
    let asked = GitCommand::config(top)
        .args(["--type=bool", "core.sparseCheckout"])
        .answer()
        .await?;
    if asked.output != b"true\n" {
        return Ok(());
    }
    Err(
        errors::failed(format!("{} cannot be looked at", top.display()))
            .cause(format!(
                "{} is a repository inside of a sparse checkout",
                first.path.display()
            ))
            .fix("move that repository elsewhere"),
    )
}

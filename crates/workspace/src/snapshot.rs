//! Snapshot of a working tree as a git tree, made without touching the user's index.

use std::{
    fs,
    path::{Path, PathBuf},
};

use rooftree_protocol::Problem;

use super::{
    blocking, errors,
    git::GitCommand,
    git_dirs::git_directory,
    scratch::ScratchDir,
    submodule::{self, SubmoduleScan},
};

/// What to do with a file that cannot be taken in, such as one that may not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UnreadablePolicy {
    /// Go on without it: the child could not read it either.
    Skip,
    /// Fail: work must not be overlooked.
    Refuse,
}

/// Where the index of a snapshot lies.
pub(super) fn index(scratch: &ScratchDir) -> PathBuf {
    scratch.path().join("index")
}

/// Writes what is tracked, as it is on the disk, and what is neither tracked nor ignored; its tree.
pub(super) async fn tree(
    top: &Path,
    scratch: &ScratchDir,
    unreadable: UnreadablePolicy,
) -> Result<String, Problem> {
    let index = index(scratch);
    copy_index(top, &index).await?;
    let inner = submodule::populated(top, &index).await?;
    if unreadable == UnreadablePolicy::Refuse {
        submodule::check_not_sparse(top, &inner).await?;
    }
    submodule::mark(top, &index, &inner, SubmoduleScan::Away).await?;
    let add = GitCommand::at(top)
        .index(&index)
        .args(["add", "--all", "--sparse"]);
    match unreadable {
        UnreadablePolicy::Refuse => add.succeed().await?,
        UnreadablePolicy::Skip => {
            add.arg("--ignore-errors")
                .answer_within(&[0, 1])
                .await?
                .output
        }
    };
    GitCommand::at(top)
        .index(&index)
        .arg("write-tree")
        .line()
        .await
}

/// Wraps a tree into a commit that no branch knows yet.
pub(super) async fn commit(
    top: &Path,
    tree: &str,
    parents: &[String],
    message: &str,
) -> Result<String, Problem> {
    let parents = parents.iter().flat_map(|parent| ["-p", parent]);
    GitCommand::at(top)
        .args(["commit-tree", "-m", message])
        .args(parents)
        .arg(tree)
        .line()
        .await
}

/// Starts from the user's index, because what it knows of unchanged files saves reading them.
async fn copy_index(top: &Path, to: &Path) -> Result<(), Problem> {
    let from = git_directory(top).map(|directory| directory.join("index"));
    let to = to.to_owned();
    blocking::run(move || {
        let Some(from) = from.filter(|from| from.exists()) else {
            return Ok(());
        };
        let copy = || {
            let modified = fs::metadata(&from)?.modified()?;
            fs::copy(&from, &to)?;
            // Git compares the age of files with the age of the index: in a copy that looks newer,
            // an edit made right after the index was written would pass for unchanged.
            fs::File::options()
                .append(true)
                .open(&to)?
                .set_modified(modified)
        };
        copy().map_err(errors::at("copy the index", &from))
    })
    .await
}

/// Gives a working tree the index of its snapshot, unless its own git is at work there.
pub(super) async fn adopt_index(top: &Path, scratch: &ScratchDir) -> Result<(), Problem> {
    let Some(directory) = git_directory(top) else {
        return Ok(());
    };
    let from = index(scratch);
    blocking::run(move || {
        let lock = directory.join("index.lock");
        if fs::hard_link(&from, &lock).is_ok() {
            let own = directory.join("index");
            fs::rename(&lock, &own).map_err(errors::at("write", &own))?;
        }
        Ok(())
    })
    .await
}

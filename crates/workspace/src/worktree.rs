//! Working copies that are git worktrees: made from a snapshot, each on a branch of its own.

use std::{ffi::OsStr, fs, os::unix::ffi::OsStrExt, path::Path};

use rooftree_protocol::{ErrorCode, Problem};

use super::{
    Workspace, WorkspaceConfig, WorkspaceKind, blocking, errors,
    git::GitCommand,
    name,
    record::CopyRecord,
    repository::GitRepository,
    repository_lock::RepositoryLock,
    scratch::ScratchDir,
    snapshot::{self, UnreadablePolicy},
};

/// Maximum number of names to try.
const NAMES: u32 = 20;

/// Makes a worktree that holds what lies in the repository's tree now.
pub(super) async fn provision(
    repository: &GitRepository,
    cwd: &Path,
    name: &str,
    place: &WorkspaceConfig,
) -> Result<Workspace, Problem> {
    check_place(repository, place)?;
    check_untracked(repository, place).await?;
    let scratch = ScratchDir::below(repository.workshop()).await?;
    let tree = snapshot::tree(&repository.top, &scratch, UnreadablePolicy::Skip).await?;
    let message = format!("rooftree: the tree as {name} found it");
    let base =
        snapshot::commit(&repository.top, &tree, repository.head.as_slice(), &message).await?;
    let _turn = RepositoryLock::at(&repository.workshop()).await?;
    for attempt in 1..=NAMES {
        let workspace = planned(
            repository,
            cwd,
            &place.directory.join(name::numbered(name, attempt)),
            &base,
        );
        if !CopyRecord::reserve(&workspace).await? {
            continue;
        }
        match add(repository, &workspace).await {
            Ok(true) => return Ok(workspace),
            Ok(false) => {}
            // Programs that change the repository at the same time can make git fail once.
            Err(_) if attempt == 1 => {}
            Err(problem) => return Err(problem),
        }
    }
    Err(
        errors::failed(format!("{NAMES} copies are called {name} already"))
            .fix("apply or discard some of them"),
    )
}

fn planned(repository: &GitRepository, cwd: &Path, root: &Path, base: &str) -> Workspace {
    let inside = cwd.strip_prefix(&repository.top).unwrap_or(Path::new(""));
    let name = root.file_name().unwrap_or_default().to_string_lossy();
    Workspace {
        kind: WorkspaceKind::Worktree,
        root: root.to_owned(),
        cwd: if inside.as_os_str().is_empty() {
            root.to_owned()
        } else {
            root.join(inside)
        },
        origin: repository.top.clone(),
        branch: Some(format!("rooftree/{name}")),
        base: Some(base.to_owned()),
    }
}

/// Makes the worktree; says whether its name was free.
async fn add(repository: &GitRepository, workspace: &Workspace) -> Result<bool, Problem> {
    let (base, branch) = marks(workspace)?;
    // Made before, so that git can be given this directory to write to and not what is beside it.
    let root = workspace.root.clone();
    blocking::run(move || fs::create_dir(&root).map_err(errors::at("create", &root))).await?;
    let command = GitCommand::at(&repository.top).args([
        "worktree",
        "add",
        "--quiet",
        "--no-track",
        "-b",
        branch,
    ]);
    let answer = command
        .arg(&workspace.root)
        .arg(base)
        .touching(&workspace.root)
        .answer()
        .await?;
    if answer.code == Some(0) {
        let cwd = workspace.cwd.clone();
        // A directory that git does not know of, such as an ignored one, is not there yet.
        blocking::run(move || fs::create_dir_all(&cwd).map_err(errors::at("create", &cwd))).await?;
        CopyRecord::note_ready(&workspace.root).await?;
        return Ok(true);
    }
    let root = workspace.root.clone();
    // Only if nothing is in it.
    let _ = blocking::run(move || fs::remove_dir(&root).map_err(errors::at("remove", &root))).await;
    CopyRecord::remove(&workspace.root).await;
    if answer.errors.contains("already exists") {
        return Ok(false);
    }
    Err(errors::failed("git could not make a worktree").cause(super::git::words(&answer)))
}

fn check_place(repository: &GitRepository, place: &WorkspaceConfig) -> Result<(), Problem> {
    if !place.directory.starts_with(&repository.top) {
        return Ok(());
    }
    let message = format!(
        "copies would be kept inside of the repository, in {}",
        place.directory.display()
    );
    Err(Problem::new(ErrorCode::InvalidConfig, message)
        .fix("choose a data directory outside of the repository"))
}

/// Untracked files become part of the snapshot, so a forgotten heap of data must not get in.
async fn check_untracked(
    repository: &GitRepository,
    place: &WorkspaceConfig,
) -> Result<(), Problem> {
    let list = ["ls-files", "--others", "--exclude-standard", "-z"];
    let output = GitCommand::at(&repository.top).args(list).succeed().await?;
    let (top, place) = (repository.top.clone(), place.clone());
    blocking::run(move || {
        let paths = output
            .split(|byte| *byte == 0)
            .filter(|path| !path.is_empty());
        let sizes = paths.map(|path| {
            let metadata = fs::symlink_metadata(top.join(OsStr::from_bytes(path)));
            metadata.map_or(0, |metadata| {
                if metadata.is_file() {
                    metadata.len()
                } else {
                    0
                }
            })
        });
        let (count, bytes) = sizes.fold((0, 0), |(count, bytes): (u64, u64), size| {
            (count + 1, bytes + size)
        });
        if count <= place.copy_limit_files && bytes <= place.copy_limit_bytes {
            return Ok(());
        }
        let message =
            format!("the repository has too many untracked files ({count} files, {bytes} bytes)");
        Err(Problem::new(ErrorCode::LimitReached, message)
            .cause("untracked files are copied for every child")
            .fix("add what is not source to .gitignore"))
    })
    .await
}

/// The base and the branch that every worktree has.
pub(super) fn marks(workspace: &Workspace) -> Result<(&str, &str), Problem> {
    match (&workspace.base, &workspace.branch) {
        (Some(base), Some(branch)) => Ok((base, branch)),
        _ => Err(Problem::new(
            ErrorCode::Internal,
            "a worktree was kept without its base and branch",
        )),
    }
}

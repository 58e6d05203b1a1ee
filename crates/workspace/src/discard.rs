//! Removes copies, and never work: what was not applied is refused, or kept where it can be found.

use std::{
    fs,
    path::{Path, PathBuf},
};

use rooftree_protocol::Problem;

use super::{
    Workspace, WorkspaceConfig, WorkspaceKind, blocking,
    committed::{self, BranchTip},
    copied, errors,
    git::GitCommand,
    manifest,
    record::{self, CopyRecord, CopyState},
    repository::GitRepository,
    repository_lock::RepositoryLock,
    scratch::ScratchDir,
    snapshot::{self, UnreadablePolicy},
    three_way, worktree,
};

/// A copy that a crash left behind and that was not removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftoverCopy {
    /// The copy.
    pub workspace: Workspace,
    /// Why it is still there: it holds work, or it could not be looked at.
    pub problem: Problem,
}

/// Removes a copy. It refuses if the copy holds work that was not applied.
///
/// With `force` such work is kept elsewhere, and where is told: the branch of a worktree stays,
/// the changed files of a plain copy stay in a directory beside it.
pub async fn discard(workspace: &Workspace, force: bool) -> Result<Option<String>, Problem> {
    let (root, aside) = (&workspace.root, aside(workspace));
    if !root.exists() && aside.exists() {
        // A removal was cut off before it was sure that nothing is lost.
        rename(&aside, root).await?;
    }
    match workspace.kind {
        WorkspaceKind::Worktree if workspace.root.exists() => {
            discard_worktree(workspace, force).await
        }
        WorkspaceKind::Worktree => forget(workspace, force).await,
        WorkspaceKind::Copy => discard_copy(workspace, force).await,
    }
}

/// Clears up after processes that are gone: copies without work are removed, the others listed.
///
/// Copies of processes that still run are left alone.
pub async fn sweep(place: &WorkspaceConfig) -> Vec<LeftoverCopy> {
    let Ok(directory) = blocking::canonical(&place.directory).await else {
        return Vec::new();
    };
    let mut left = Vec::new();
    for record in CopyRecord::all(&directory)
        .await
        .into_iter()
        .filter(|record| !record.is_owned())
    {
        let swept = match record.state {
            CopyState::Making => unmake(&record.workspace).await,
            CopyState::Ready => discard(&record.workspace, false).await.map(|_| ()),
        };
        if let Err(problem) = swept {
            left.push(LeftoverCopy {
                workspace: record.workspace,
                problem,
            });
        }
    }
    left
}

/// Where a copy lies while it is looked at for the last time.
fn aside(workspace: &Workspace) -> PathBuf {
    record::beside(&workspace.root, record::ASIDE)
}

/// Where a copy lies when it is sure that it may go.
fn removed(workspace: &Workspace) -> PathBuf {
    record::beside(&workspace.root, record::REMOVED)
}

fn holds_work(workspace: &Workspace, files: usize) -> Problem {
    let noun = if files == 1 { "file" } else { "files" };
    let problem = errors::failed(format!(
        "{} holds work that was not applied",
        workspace.root.display()
    ))
    .fix("apply it first, or discard it by force");
    match &workspace.branch {
        Some(branch) => problem.cause(format!("{files} changed {noun}, kept on branch {branch}")),
        None => problem.cause(format!("{files} changed {noun}")),
    }
}

async fn is_applied(workspace: &Workspace, mark: Option<&str>) -> bool {
    CopyRecord::of(&workspace.root)
        .await
        .is_some_and(|record| record.is_applied(mark))
}

async fn discard_worktree(workspace: &Workspace, force: bool) -> Result<Option<String>, Problem> {
    let repository = committed::own(workspace).await?;
    let _turn = RepositoryLock::at(&repository.workshop()).await?;
    let work = committed::commit(workspace).await?;
    let files = work.changes.files.len();
    let is_free = files == 0 || is_applied(workspace, work.changes.commit.as_deref()).await;
    if let Some(inner) = work.inner.first() {
        // Not even by force: no branch of ours can keep it.
        return Err(holds_work(workspace, files)
            .cause(format!(
                "{} is a repository of its own, or belongs to one",
                inner.path.display()
            ))
            .fix("move what is in it elsewhere, or delete it by hand"));
    }
    if !is_free && !force {
        return Err(holds_work(workspace, files));
    }
    let aside = aside(workspace);
    rename(&workspace.root, &aside).await?;
    // No process can write through the old path any more; a write after the commit is detected now.
    let scratch = ScratchDir::below(repository.workshop()).await?;
    let tree = snapshot::tree(&aside, &scratch, UnreadablePolicy::Refuse).await;
    if tree.as_ref().ok() != Some(&work.tree) {
        rename(&aside, &workspace.root).await?;
        return Err(errors::failed(format!(
            "{} is still being worked in",
            workspace.root.display()
        ))
        .fix("stop the child first"));
    }
    rename(&aside, &removed(workspace)).await?;
    release(workspace, !is_free).await
}

/// Lets git forget a worktree whose directory is gone; the branch goes too, unless it is to stay.
async fn release(workspace: &Workspace, is_branch_kept: bool) -> Result<Option<String>, Problem> {
    let (_, branch) = worktree::marks(workspace)?;
    let origin = workspace.origin.as_path();
    remove(removed(workspace)).await?;
    // It may be forgotten already; then there is nothing to do.
    let forget = GitCommand::at(origin)
        .args(["worktree", "remove"])
        .arg(&workspace.root);
    forget.removing_worktree().answer().await?;
    let mut kept = Some(branch.to_owned());
    if !is_branch_kept {
        GitCommand::at(origin)
            .args(["update-ref", "-d", &three_way::before(branch)])
            .answer()
            .await?;
        // Git refuses if someone has checked it out elsewhere; then it stays.
        let deleted = GitCommand::at(origin)
            .args(["branch", "--quiet", "-D", branch])
            .answer()
            .await?;
        kept = kept.filter(|_| deleted.code != Some(0) && !deleted.errors.contains("not found"));
    }
    CopyRecord::remove(&workspace.root).await;
    Ok(kept)
}

/// A worktree whose directory someone else removed: only its branch can hold work.
async fn forget(workspace: &Workspace, force: bool) -> Result<Option<String>, Problem> {
    let (base, branch) = worktree::marks(workspace)?;
    let repository = GitRepository::of(&workspace.origin).await?;
    let _turn = RepositoryLock::at(&repository.workshop()).await?;
    let tip = BranchTip::of(&repository.top, branch)
        .await?
        .map(|tip| tip.commit);
    let is_free = tip.is_none()
        || tip.as_deref() == Some(base)
        || is_applied(workspace, tip.as_deref()).await;
    if !is_free && !force {
        return Err(holds_work(workspace, 0).cause(format!(
            "its directory is gone, its commits are on {branch}"
        )));
    }
    release(workspace, !is_free).await
}

/// Removes a copy that was never handed out: no agent has worked in it.
async fn unmake(workspace: &Workspace) -> Result<(), Problem> {
    if workspace.kind == WorkspaceKind::Copy {
        return clear_copy(workspace).await;
    }
    let repository = GitRepository::of(&workspace.origin).await?;
    let _turn = RepositoryLock::at(&repository.workshop()).await?;
    // Git locks a worktree while it makes it.
    let unlock = GitCommand::at(&repository.top)
        .args(["worktree", "unlock"])
        .arg(&workspace.root);
    unlock.answer().await?;
    remove(workspace.root.clone()).await?;
    let is_moved = BranchTip::of(&repository.top, worktree::marks(workspace)?.1).await?;
    let is_moved = is_moved.is_some_and(|tip| Some(&tip.commit) != workspace.base.as_ref());
    release(workspace, is_moved).await.map(|_| ())
}

async fn discard_copy(workspace: &Workspace, force: bool) -> Result<Option<String>, Problem> {
    if !workspace.root.exists() {
        return clear_copy(workspace).await.map(|()| None);
    }
    let inspection = copied::inspect(workspace).await?;
    if inspection.touched.is_empty() || is_applied(workspace, inspection.mark.as_deref()).await {
        return clear_copy(workspace).await.map(|()| None);
    }
    if !force {
        return Err(holds_work(workspace, inspection.touched.len()));
    }
    let kept = record::beside(&workspace.root, record::KEPT);
    let (root, to) = (workspace.root.clone(), kept.clone());
    let left = inspection
        .touched
        .into_iter()
        .filter(|touched| touched.left.is_some());
    let paths: Vec<PathBuf> = left.map(|touched| touched.path).collect();
    blocking::run(move || paths.iter().try_for_each(|path| save(&root, &to, path))).await?;
    clear_copy(workspace).await?;
    Ok(Some(kept.display().to_string()))
}

fn save(root: &Path, kept: &Path, path: &Path) -> Result<(), Problem> {
    let to = kept.join(path);
    to.parent()
        .map_or(Ok(()), fs::create_dir_all)
        .map_err(errors::at("create", kept))?;
    fs::rename(root.join(path), &to).map_err(errors::at("keep", &to))
}

async fn clear_copy(workspace: &Workspace) -> Result<(), Problem> {
    let root = workspace.root.as_path();
    if root.exists() {
        // In one step, so that a removal that is cut off does not look like a child's deletions.
        rename(root, &removed(workspace)).await?;
    }
    for path in [
        removed(workspace),
        manifest::directory(root),
        manifest::applied(root),
        manifest::found(root),
    ] {
        remove(path).await?;
    }
    CopyRecord::remove(root).await;
    Ok(())
}

async fn rename(from: &Path, to: &Path) -> Result<(), Problem> {
    let (from, to) = (from.to_owned(), to.to_owned());
    blocking::run(move || fs::rename(&from, &to).map_err(errors::at("move", &from))).await
}

/// Removes a file, or a directory with all that is in it; what is not there is fine.
async fn remove(path: PathBuf) -> Result<(), Problem> {
    blocking::run(move || {
        let removed = if path.is_dir() {
            fs::remove_dir_all(&path)
        } else {
            fs::remove_file(&path)
        };
        match removed {
            Err(error) if path.symlink_metadata().is_ok() => {
                Err(errors::at("remove", &path)(error))
            }
            _ => Ok(()),
        }
    })
    .await
}

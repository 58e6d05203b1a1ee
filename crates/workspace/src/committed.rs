//! Commits a child's work in a worktree to its branch, before it is diffed or merged.
//!
//! The child may have committed itself, switched branches or left its HEAD anywhere; whatever its
//! branch and its HEAD held becomes a parent of the new commit, so that nothing is lost.

use std::{
    fs,
    path::{Path, PathBuf},
};

use rooftree_protocol::Problem;

use super::{
    Workspace, WorkspaceKind, blocking,
    change::{ChangedFile, FileChangeKind, WorkspaceChanges},
    errors,
    git::GitCommand,
    git_dirs::{common_directory, git_directory},
    raw_diff,
    record::CopyRecord,
    repository::GitRepository,
    repository_lock::RepositoryLock,
    scratch::ScratchDir,
    snapshot::{self, UnreadablePolicy},
    submodule::{self, InnerRepository, SubmoduleScan},
    worktree::marks,
};

/// Commits what the child left, and says how that differs from what it found.
pub(super) async fn changes(workspace: &Workspace) -> Result<WorkspaceChanges, Problem> {
    commit(workspace).await.map(|work| work.changes)
}

/// A child's work, all of it on its branch.
pub(super) struct CommittedWork {
    pub changes: WorkspaceChanges,
    /// The tree of the commit.
    pub tree: String,
    /// Inner repositories, whose files and commits no branch of ours can hold.
    pub inner: Vec<InnerRepository>,
}

/// Commits what the child left to its branch.
pub(super) async fn commit(workspace: &Workspace) -> Result<CommittedWork, Problem> {
    let (base, branch) = marks(workspace)?;
    let root = workspace.root.as_path();
    let repository = own(workspace).await?;
    let _turn =
        RepositoryLock::at(&git_directory(root).unwrap_or_else(|| repository.workshop())).await?;
    let scratch = ScratchDir::below(repository.workshop()).await?;
    let tree = snapshot::tree(root, &scratch, UnreadablePolicy::Refuse).await?;
    let tip = BranchTip::of(root, branch).await?;
    let commit = match &tip {
        Some(tip) if tip.tree == tree => tip.commit.clone(),
        _ => extend(workspace, &repository, tip.as_ref(), &tree).await?,
    };
    let index = snapshot::index(&scratch);
    let inner = submodule::populated(root, &index).await?;
    if tip.is_some_and(|tip| tip.is_checked_out) {
        submodule::mark(root, &index, &inner, SubmoduleScan::Inside).await?;
        snapshot::adopt_index(root, &scratch).await?;
    }
    let differences = raw_diff::between(root, base, &commit).await?;
    let mut files: Vec<ChangedFile> = differences
        .iter()
        .map(raw_diff::TreeDifference::changed_file)
        .collect();
    let known: Vec<PathBuf> = files.iter().map(|file| file.path.clone()).collect();
    let new = inner
        .iter()
        .map(|inner| inner.path.clone())
        .filter(|path| !known.contains(path));
    files.extend(new.map(|path| ChangedFile {
        path,
        action: FileChangeKind::Changed,
        added: 0,
        removed: 0,
    }));
    let commit = (commit != base).then_some(commit);
    Ok(CommittedWork {
        changes: WorkspaceChanges::new(files, commit),
        tree,
        inner,
    })
}

/// The repository of the child's own worktree, and of no other that happens to lie around it.
///
/// Checked before git runs there: a child that lays another repository around its files could
/// name programs in its settings that git would run for us.
pub(super) async fn own(workspace: &Workspace) -> Result<GitRepository, Problem> {
    let (root, origin) = (workspace.root.clone(), workspace.origin.clone());
    let is_own = move || {
        let is_file = fs::symlink_metadata(root.join(".git")).is_ok_and(|found| found.is_file());
        let common = common_directory(&root);
        Ok(is_file && common.is_some() && common == common_directory(&origin))
    };
    if blocking::run(is_own).await? {
        return GitRepository::of(&workspace.root).await;
    }
    Err(errors::failed(format!(
        "{} is no worktree of its parent any more",
        workspace.root.display()
    ))
    .cause("its .git file is gone or leads elsewhere")
    .fix("look at its files, and remove it by hand"))
}

/// If a directory lies in a worktree of ours, that must be sound before git runs in it.
pub(super) async fn check_surroundings(directory: &Path) -> Result<(), Problem> {
    for above in directory.ancestors() {
        let workspace = CopyRecord::of(above).await.map(|record| record.workspace);
        if let Some(workspace) =
            workspace.filter(|workspace| workspace.kind == WorkspaceKind::Worktree)
        {
            own(&workspace).await?;
        }
    }
    Ok(())
}

/// Puts a tree on top of what the child's branch and its HEAD hold, so that neither is lost.
async fn extend(
    workspace: &Workspace,
    repository: &GitRepository,
    tip: Option<&BranchTip>,
    tree: &str,
) -> Result<String, Problem> {
    let (_, branch) = marks(workspace)?;
    let tip = tip.map(|tip| tip.commit.clone());
    let mut parents: Vec<String> = repository.head.clone().into_iter().collect();
    parents.extend(tip.clone().filter(|tip| !parents.contains(tip)));
    let message = format!(
        "rooftree: what {} left",
        branch.trim_start_matches("rooftree/")
    );
    let commit = snapshot::commit(&workspace.root, tree, &parents, &message).await?;
    let reference = format!("refs/heads/{branch}");
    let old = tip.unwrap_or_default();
    let update = GitCommand::at(&workspace.root).args([
        "update-ref",
        "-m",
        &message,
        &reference,
        &commit,
        &old,
    ]);
    update.succeed().await?;
    Ok(commit)
}

/// The end of a branch.
pub(super) struct BranchTip {
    pub commit: String,
    pub tree: String,
    pub is_checked_out: bool,
}

impl BranchTip {
    /// The end of this branch; none if there is no such branch.
    pub async fn of(directory: &Path, branch: &str) -> Result<Option<Self>, Problem> {
        let format = "--format=%(HEAD)%(objectname) %(tree)";
        let reference = format!("refs/heads/{branch}");
        let line = GitCommand::at(directory)
            .args(["for-each-ref", format, &reference])
            .line()
            .await?;
        let is_checked_out = line.starts_with('*');
        let line = line.trim_start_matches(['*', ' ']);
        let tip = line
            .split_once(' ')
            .map(|(commit, tree)| (commit.to_owned(), tree.to_owned()));
        Ok(tip.map(|(commit, tree)| Self {
            commit,
            tree,
            is_checked_out,
        }))
    }
}

//! Working copies that are git worktrees: made from a snapshot, each on a branch of its own.

use std::{
    ffi::OsStr,
    fs,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use rooftree_protocol::{ErrorCode, Problem};

use super::{
    Kind, Place, Workspace, blocking,
    change::{Action, ChangedFile, Changes},
    failure,
    git::Git,
    name, raw_diff,
    record::Record,
    repository::{Repository, git_directory},
    scratch::Scratch,
    snapshot::{self, Unreadable},
    submodule,
    turn::Turn,
};

/// How many names are tried before giving up.
const NAMES: u32 = 20;

/// Makes a worktree that holds what lies in the repository's tree now.
pub(super) async fn provision(
    repository: &Repository,
    cwd: &Path,
    name: &str,
    place: &Place,
) -> Result<Workspace, Problem> {
    check_place(repository, place)?;
    check_untracked(repository, place).await?;
    let scratch = Scratch::below(repository.workshop()).await?;
    let tree = snapshot::tree(&repository.top, &scratch, Unreadable::Skip).await?;
    let message = format!("rooftree: the tree as {name} found it");
    let base = snapshot::commit(&repository.top, &tree, repository.head.as_slice(), &message).await?;
    let _turn = Turn::at(&repository.workshop()).await?;
    for attempt in 1..=NAMES {
        let workspace = planned(repository, cwd, &place.directory.join(name::numbered(name, attempt)), &base);
        if Record::reserve(&workspace).await? && add(repository, &workspace).await? {
            return Ok(workspace);
        }
    }
    Err(failure::failed(format!("{NAMES} copies are called {name} already"))
        .fix("apply or discard some of them"))
}

fn planned(repository: &Repository, cwd: &Path, root: &Path, base: &str) -> Workspace {
    let inside = cwd.strip_prefix(&repository.top).unwrap_or(Path::new(""));
    let name = root.file_name().unwrap_or_default().to_string_lossy();
    Workspace {
        kind: Kind::Worktree,
        root: root.to_owned(),
        cwd: if inside.as_os_str().is_empty() { root.to_owned() } else { root.join(inside) },
        origin: repository.top.clone(),
        branch: Some(format!("rooftree/{name}")),
        base: Some(base.to_owned()),
    }
}

/// Makes the worktree; says whether its name was free.
async fn add(repository: &Repository, workspace: &Workspace) -> Result<bool, Problem> {
    let (base, branch) = marks(workspace)?;
    let command = Git::at(&repository.top).args(["worktree", "add", "--quiet", "--no-track", "-b", branch]);
    let answer = command.arg(&workspace.root).arg(base).answer().await?;
    if answer.code == Some(0) {
        let cwd = workspace.cwd.clone();
        // A directory that git does not know of, such as an ignored one, is not there yet.
        blocking::run(move || fs::create_dir_all(&cwd).map_err(failure::at("create", &cwd))).await?;
        Record::note_ready(&workspace.root).await?;
        return Ok(true);
    }
    Record::remove(&workspace.root).await;
    if answer.errors.contains("already exists") {
        return Ok(false);
    }
    Err(failure::failed("git could not make a worktree").cause(super::git::words(&answer)))
}

fn check_place(repository: &Repository, place: &Place) -> Result<(), Problem> {
    if !place.directory.starts_with(&repository.top) {
        return Ok(());
    }
    let message = format!("copies would be kept inside of the repository, in {}", place.directory.display());
    Err(Problem::new(ErrorCode::InvalidConfig, message)
        .fix("choose a data directory outside of the repository"))
}

/// Untracked files become part of the snapshot, so a forgotten heap of data must not get in.
async fn check_untracked(repository: &Repository, place: &Place) -> Result<(), Problem> {
    let list = ["ls-files", "--others", "--exclude-standard", "-z"];
    let output = Git::at(&repository.top).args(list).succeed().await?;
    let (top, place) = (repository.top.clone(), place.clone());
    blocking::run(move || {
        let paths = output.split(|byte| *byte == 0).filter(|path| !path.is_empty());
        let sizes = paths.map(|path| {
            let metadata = fs::symlink_metadata(top.join(OsStr::from_bytes(path)));
            metadata.map_or(0, |metadata| if metadata.is_file() { metadata.len() } else { 0 })
        });
        let (count, bytes) = sizes.fold((0, 0), |(count, bytes): (u64, u64), size| (count + 1, bytes + size));
        if count <= place.copy_limit_files && bytes <= place.copy_limit_bytes {
            return Ok(());
        }
        let message = format!("the repository has too many untracked files ({count} files, {bytes} bytes)");
        Err(Problem::new(ErrorCode::LimitReached, message)
            .cause("untracked files are copied for every child")
            .fix("add what is not source to .gitignore"))
    })
    .await
}

/// Commits what the child left, and says how that differs from what it found.
pub(super) async fn changes(workspace: &Workspace) -> Result<Changes, Problem> {
    committed(workspace).await.map(|work| work.changes)
}

/// A child's work, all of it on its branch.
pub(super) struct Work {
    pub changes: Changes,
    /// The tree of the commit.
    pub tree: String,
    /// Inner repositories with files that no commit of ours can hold.
    pub beyond: Vec<PathBuf>,
}

/// Commits what the child left to its branch.
pub(super) async fn committed(workspace: &Workspace) -> Result<Work, Problem> {
    let (base, branch) = marks(workspace)?;
    let root = workspace.root.as_path();
    let repository = own(workspace).await?;
    let _turn = Turn::at(&git_directory(root).unwrap_or_else(|| repository.workshop())).await?;
    let scratch = Scratch::below(repository.workshop()).await?;
    let tree = snapshot::tree(root, &scratch, Unreadable::Refuse).await?;
    let tip = Tip::of(root, branch).await?;
    let commit = match &tip {
        Some(tip) if tip.tree == tree => tip.commit.clone(),
        _ => extend(workspace, &repository, tip.as_ref(), &tree).await?,
    };
    if tip.is_some_and(|tip| tip.is_checked_out) {
        snapshot::adopt_index(root, &scratch).await?;
    }
    let differences = raw_diff::between(root, base, &commit).await?;
    let mut files: Vec<ChangedFile> = differences.iter().map(raw_diff::Difference::changed_file).collect();
    let beyond = submodule::with_work(root, &snapshot::index(&scratch)).await?;
    let known: Vec<PathBuf> = files.iter().map(|file| file.path.clone()).collect();
    let new = beyond.iter().filter(|path| !known.contains(path)).cloned();
    files.extend(new.map(|path| ChangedFile { path, action: Action::Changed, added: 0, removed: 0 }));
    let commit = (commit != base).then_some(commit);
    Ok(Work { changes: Changes::new(files, commit), tree, beyond })
}

/// The repository of the child's own worktree, and of no other that happens to lie around it.
async fn own(workspace: &Workspace) -> Result<Repository, Problem> {
    let repository = Repository::of(&workspace.root).await?;
    if repository.top == workspace.root {
        return Ok(repository);
    }
    Err(failure::failed(format!("{} is no worktree any more", workspace.root.display()))
        .cause("its .git file is gone")
        .fix("look at its files, and remove it by hand"))
}

/// Puts a tree on top of what the child's branch and its HEAD hold, so that neither is lost.
async fn extend(
    workspace: &Workspace,
    repository: &Repository,
    tip: Option<&Tip>,
    tree: &str,
) -> Result<String, Problem> {
    let (_, branch) = marks(workspace)?;
    let tip = tip.map(|tip| tip.commit.clone());
    let mut parents: Vec<String> = repository.head.clone().into_iter().collect();
    parents.extend(tip.clone().filter(|tip| !parents.contains(tip)));
    let message = format!("rooftree: what {} left", branch.trim_start_matches("rooftree/"));
    let commit = snapshot::commit(&workspace.root, tree, &parents, &message).await?;
    let reference = format!("refs/heads/{branch}");
    let old = tip.unwrap_or_default();
    let update = Git::at(&workspace.root).args(["update-ref", "-m", &message, &reference, &commit, &old]);
    update.succeed().await?;
    Ok(commit)
}

/// The end of a branch.
pub(super) struct Tip {
    pub commit: String,
    pub tree: String,
    pub is_checked_out: bool,
}

impl Tip {
    /// The end of this branch; none if there is no such branch.
    pub async fn of(directory: &Path, branch: &str) -> Result<Option<Self>, Problem> {
        let format = "--format=%(HEAD)%(objectname) %(tree)";
        let reference = format!("refs/heads/{branch}");
        let line = Git::at(directory).args(["for-each-ref", format, &reference]).line().await?;
        let is_checked_out = line.starts_with('*');
        let line = line.trim_start_matches(['*', ' ']);
        let tip = line.split_once(' ').map(|(commit, tree)| (commit.to_owned(), tree.to_owned()));
        Ok(tip.map(|(commit, tree)| Self { commit, tree, is_checked_out }))
    }
}

/// The base and the branch that every worktree has.
pub(super) fn marks(workspace: &Workspace) -> Result<(&str, &str), Problem> {
    match (&workspace.base, &workspace.branch) {
        (Some(base), Some(branch)) => Ok((base, branch)),
        _ => Err(Problem::new(ErrorCode::Internal, "a worktree was kept without its base and branch")),
    }
}

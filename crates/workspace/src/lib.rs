//! Isolated working copies (workspaces) for agents that write, and merging of their changes back.
//!
//! In a git repository a child gets a worktree made from a snapshot of the parent's tree as it is now, uncommitted and
//! untracked files included. Elsewhere it gets a copy. What it changed is brought back by a three-way merge against
//! that snapshot, file by file, each replaced in one step.
//!
//! [`provision`] makes a [`Workspace`], [`changes`] lists its [`WorkspaceChanges`], [`apply`] merges them with a
//! [`ConflictStrategy`], [`discard`] removes the copy, [`sweep`] finds copies that a crash left.
//!
//! Invariant: the parent's index, HEAD, branches and stash are never written.
//! Invariant: nothing that holds work is deleted; what cannot be looked at counts as work.
//!
//! ```no_run
//! use rooftree_workspace::{ConflictStrategy, WorkspaceConfig, apply, discard, provision};
//!
//! # async fn example() -> Result<(), rooftree_protocol::Problem> {
//! let config = WorkspaceConfig {
//!     directory: "/var/tmp/copies".into(),
//!     copy_limit_bytes: 100_000_000,
//!     copy_limit_files: 10_000,
//! };
//! let copy = provision("/home/me/project".as_ref(), "writer", "12345678", &config).await?;
//! std::fs::write(copy.cwd.join("new.txt"), "from the child").ok();
//! apply(&copy, ConflictStrategy::Refuse).await?;
//! discard(&copy, false).await?;
//! # Ok(())
//! # }
//! ```

mod blocking;
mod change;
mod committed;
mod copied;
mod copy;
mod copy_merge;
mod discard;
mod errors;
mod file_entry;
mod file_merge;
mod git;
mod git_dirs;
mod git_state;
mod manifest;
mod merge;
mod name;
mod raw_diff;
mod record;
mod replace_files;
mod repository;
mod repository_lock;
mod scratch;
mod snapshot;
mod staging;
mod submodule;
mod three_way;
mod worktree;

use std::path::{Path, PathBuf};

use rooftree_protocol::Problem;
use serde::{Deserialize, Serialize};

pub use change::{ChangedFile, FileChangeKind, WorkspaceChanges};
pub use discard::{LeftoverCopy, discard, sweep};
pub use git_state::{git_branch, git_state};

use repository::GitRepository;

/// How a child's own working copy was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkspaceKind {
    /// A git worktree on a branch of its own.
    Worktree,
    /// A plain copy, where there is no git repository.
    Copy,
}

/// A child's own working copy: plain data, to be kept in the store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Workspace {
    /// How it was made.
    pub kind: WorkspaceKind,
    /// The root of the copy.
    pub root: PathBuf,
    /// Where the child works: the parent's working directory, as it lies in the copy.
    pub cwd: PathBuf,
    /// The parent's root, which the copy was made from.
    pub origin: PathBuf,
    /// The branch the child's work is committed to: `rooftree/<agent>-<8 characters>`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The commit that holds the parent's tree as it was when the copy was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
}

/// Where copies are kept, and how large a plain copy may become.
#[derive(Clone, Debug)]
pub struct WorkspaceConfig {
    /// A directory outside of the parent's tree.
    pub directory: PathBuf,
    /// Bytes that are copied at most. For a worktree: bytes of untracked files.
    pub copy_limit_bytes: u64,
    /// Files that are copied at most. For a worktree: untracked files.
    pub copy_limit_files: u64,
}

/// The tree that a directory is a copy of, and the root of the copy; none if it is in no copy.
///
/// Invariant: a directory among the copies is in a copy, also if its record cannot be read. Then the original
/// is not known, and the copy stands for it.
pub fn copied_from(directory: &Path, place: &WorkspaceConfig) -> Option<(PathBuf, PathBuf)> {
    let directory = std::fs::canonicalize(directory).ok()?;
    let copies = std::fs::canonicalize(&place.directory).ok()?;
    let inside = directory.strip_prefix(&copies).ok()?;
    let root = copies.join(inside.components().next()?);
    let recorded = record::around(&directory).map(|copy| (copy.origin, copy.root));
    Some(recorded.unwrap_or_else(|| (root.clone(), root)))
}

/// What to do where parent and child changed the same thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConflictStrategy {
    /// All or nothing: a conflict leaves the parent's tree as it is, and is named.
    Refuse,
    /// Text gets conflict markers; of anything else the child's version is laid beside the parent's.
    Markers,
}

/// What became of a child's changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ApplyOutcome {
    /// All of them are in the parent's tree; this is what changed there.
    Clean(WorkspaceChanges),
    /// Some met other changes.
    Conflicts {
        /// Where they met, relative to the parent's root.
        files: Vec<PathBuf>,
        /// Files applied without a conflict; none with [`ConflictStrategy::Refuse`].
        applied: Vec<PathBuf>,
    },
    /// There was nothing to bring in, or it was there already.
    Nothing,
}

/// Makes a working copy of the tree `cwd` lies in, as it is at this moment.
///
/// `unique` tells copies of one agent apart; of an id, its last eight characters are used.
/// The message of a refusal can follow "… was not dispatched,". If the wait is dropped, what
/// was made so far is never used and goes with the next [`sweep`] after this process has ended.
pub async fn provision(
    cwd: &Path,
    agent: &str,
    unique: &str,
    place: &WorkspaceConfig,
) -> Result<Workspace, Problem> {
    let cwd = blocking::canonical(cwd).await?;
    let place = blocking::prepared(place).await?;
    let name = name::of(agent, unique);
    committed::check_surroundings(&cwd).await?;
    match GitRepository::around(&cwd).await? {
        Some(repository) => worktree::provision(&repository, &cwd, &name, &place).await,
        None => copy::provision(&cwd, &name, &place).await,
    }
}

/// Says what the child changed since its copy was made. In a worktree, what it left is committed
/// to its branch first.
pub async fn changes(workspace: &Workspace) -> Result<WorkspaceChanges, Problem> {
    match workspace.kind {
        WorkspaceKind::Worktree => committed::changes(workspace).await,
        WorkspaceKind::Copy => copied::changes(workspace).await,
    }
}

/// Brings the child's changes into the parent's tree as it is now.
///
/// Changes of others, in other files and in other places of the same file, stay. Doing it again
/// is harmless: what is there already is left alone.
pub async fn apply(
    workspace: &Workspace,
    strategy: ConflictStrategy,
) -> Result<ApplyOutcome, Problem> {
    match workspace.kind {
        WorkspaceKind::Worktree => merge::apply(workspace, strategy).await,
        WorkspaceKind::Copy => copy_merge::apply(workspace, strategy).await,
    }
}

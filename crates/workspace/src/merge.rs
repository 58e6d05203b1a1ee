//! Brings a worktree's changes into the parent's tree: git merges, we land the result.
//!
//! The parent's tree is taken as a snapshot, merged with the child's commit against the base, and
//! only the files that differ from the snapshot are written. The snapshot stays under
//! `refs/rooftree/before/<name>` until the workspace is discarded: the way back for a person.

use std::{
    ffi::OsStr,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use rooftree_protocol::Problem;

use super::{
    ApplyOutcome, ConflictStrategy, Workspace, blocking,
    change::{ChangedFile, WorkspaceChanges},
    committed::{self, CommittedWork},
    errors,
    git::GitCommand,
    raw_diff::{self, TreeDifference},
    record::CopyRecord,
    replace_files::{FileReplacement, FileSnapshot, ReplaceError, replace_all},
    repository::GitRepository,
    repository_lock::RepositoryLock,
    scratch::ScratchDir,
    snapshot::{self, UnreadablePolicy},
    staging::{self, StagedFile},
    three_way::{MergeConflict, MergeSides, merge},
};

/// Maximum retries when another process writes to the parent's tree meanwhile.
const ATTEMPTS: u32 = 5;

/// Merges and lands what the child left.
pub(super) async fn apply(
    workspace: &Workspace,
    strategy: ConflictStrategy,
) -> Result<ApplyOutcome, Problem> {
    committed::check_surroundings(&workspace.origin).await?;
    let repository = GitRepository::of(&workspace.origin).await?;
    let _turn = RepositoryLock::at(&repository.workshop()).await?;
    let work = committed::commit(workspace).await?;
    if work.changes.files.is_empty() {
        return Ok(ApplyOutcome::Nothing);
    }
    let sides = MergeSides::of(workspace, &work).await?;
    let mut moved = workspace.origin.clone();
    for _ in 0..ATTEMPTS {
        match attempt(&sides, &repository, &work, strategy).await? {
            MergeAttempt::Done(applied) => return Ok(applied),
            MergeAttempt::Moved(path) => moved = path,
        }
    }
    Err(errors::keeps_changing(&moved))
}

enum MergeAttempt {
    Done(ApplyOutcome),
    /// This file was changed by someone else after the snapshot.
    Moved(PathBuf),
}

async fn attempt(
    sides: &MergeSides<'_>,
    repository: &GitRepository,
    work: &CommittedWork,
    strategy: ConflictStrategy,
) -> Result<MergeAttempt, Problem> {
    let workspace = sides.workspace;
    let scratch = ScratchDir::below(repository.workshop()).await?;
    let tree = snapshot::tree(&workspace.origin, &scratch, UnreadablePolicy::Skip).await?;
    let merged = merge(sides, &tree).await?;
    let differences = raw_diff::between(&workspace.origin, &tree, &merged.tree).await?;
    let (foreign, ours): (Vec<_>, Vec<_>) = differences
        .into_iter()
        .partition(TreeDifference::is_repository);
    let mut conflicts: Vec<PathBuf> = merged
        .conflicts
        .iter()
        .map(|conflict| conflict.path.clone())
        .collect();
    let stray = work
        .inner
        .iter()
        .filter(|inner| !inner.is_repository)
        .map(|inner| inner.path.clone());
    let unlandable = foreign
        .into_iter()
        .map(|difference| difference.path)
        .chain(stray);
    let unlandable: Vec<PathBuf> = unlandable.collect();
    let (occupied, ours): (Vec<_>, Vec<_>) = ours
        .into_iter()
        .partition(|difference| is_occupied(&workspace.origin, difference));
    conflicts.extend(
        unlandable
            .iter()
            .chain(occupied.iter().map(|difference| &difference.path))
            .cloned(),
    );
    conflicts.sort();
    conflicts.dedup();
    if !conflicts.is_empty() && strategy == ConflictStrategy::Refuse {
        return Ok(MergeAttempt::Done(ApplyOutcome::Conflicts {
            files: conflicts,
            applied: Vec::new(),
        }));
    }
    let plan = MergePlan::new(workspace, ours, left_out(&merged.conflicts, &occupied));
    if let Some(moved) = carry_out(workspace, scratch, &plan).await? {
        return Ok(MergeAttempt::Moved(moved));
    }
    if unlandable.is_empty() {
        CopyRecord::note_applied(&workspace.root, work.changes.commit.clone()).await?;
    }
    Ok(MergeAttempt::Done(outcome(plan, conflicts)))
}

/// Whether a new file would take the place of one that the snapshot left out, such as an ignored one.
fn is_occupied(origin: &Path, difference: &TreeDifference) -> bool {
    difference.before.is_none()
        && FileSnapshot::of(&origin.join(&difference.path))
            .is_some_and(|found| !found.is_directory())
}

fn outcome(plan: MergePlan, conflicts: Vec<PathBuf>) -> ApplyOutcome {
    let files: Vec<ChangedFile> = plan
        .differences
        .iter()
        .map(TreeDifference::changed_file)
        .collect();
    let changes = WorkspaceChanges::new(files, None);
    if conflicts.is_empty() {
        return if changes.files.is_empty() {
            ApplyOutcome::Nothing
        } else {
            ApplyOutcome::Clean(changes)
        };
    }
    let applied = changes
        .paths()
        .into_iter()
        .filter(|path| !conflicts.contains(path))
        .collect();
    ApplyOutcome::Conflicts {
        files: conflicts,
        applied,
    }
}

/// Versions of the child that may have no place of their own in the parent's tree.
fn left_out(conflicts: &[MergeConflict], occupied: &[TreeDifference]) -> Vec<StagedFile> {
    let clashing = conflicts.iter().filter(|conflict| conflict.has_parents);
    let clashing = clashing.map(|conflict| (&conflict.path, &conflict.childs));
    let occupied = occupied
        .iter()
        .map(|difference| (&difference.path, &difference.after));
    let wanted = clashing.chain(occupied).filter_map(|(path, version)| {
        let version = version.clone().filter(|version| !version.is_repository())?;
        Some(StagedFile {
            path: path.clone(),
            version,
        })
    });
    wanted.collect()
}

/// Files to write, and where.
struct MergePlan {
    differences: Vec<TreeDifference>,
    /// Versions of the child that the merge left out, under names of their own.
    beside: Vec<StagedFile>,
}

impl MergePlan {
    fn new(
        workspace: &Workspace,
        differences: Vec<TreeDifference>,
        left_out: Vec<StagedFile>,
    ) -> Self {
        let name = workspace.root.file_name().unwrap_or_default();
        let is_untouched =
            |path: &Path| differences.iter().all(|difference| difference.path != path);
        let left_out = left_out
            .into_iter()
            .filter(|wanted| is_untouched(&wanted.path));
        let beside = left_out.map(|StagedFile { path, version }| {
            let mut path = path.into_os_string();
            path.push(".");
            path.push(name);
            StagedFile {
                path: path.into(),
                version,
            }
        });
        Self {
            beside: beside.collect(),
            differences,
        }
    }

    fn wanted(&self) -> Vec<StagedFile> {
        let merged = self.differences.iter().filter_map(|difference| {
            let version = difference.after.clone()?;
            Some(StagedFile {
                path: difference.path.clone(),
                version,
            })
        });
        merged.chain(self.beside.iter().cloned()).collect()
    }

    fn steps(&self, origin: &Path, scratch: &ScratchDir) -> Vec<FileReplacement> {
        let merged = self.differences.iter().map(|difference| FileReplacement {
            seen: difference
                .before
                .as_ref()
                .and_then(|_| FileSnapshot::of(&origin.join(&difference.path))),
            new: difference
                .after
                .as_ref()
                .map(|_| staging::path_of(scratch, &difference.path)),
            path: difference.path.clone(),
        });
        let beside = self.beside.iter().map(|wanted| FileReplacement {
            // A version laid there before is replaced.
            seen: FileSnapshot::of(&origin.join(&wanted.path)),
            new: Some(staging::path_of(scratch, &wanted.path)),
            path: wanted.path.clone(),
        });
        merged.chain(beside).collect()
    }
}

/// Writes the plan into the parent's tree. If a file moved under us nothing is written, and it is named.
async fn carry_out(
    workspace: &Workspace,
    scratch: ScratchDir,
    plan: &MergePlan,
) -> Result<Option<PathBuf>, Problem> {
    let origin = workspace.origin.clone();
    staging::lay_out(&origin, &scratch, &plan.wanted()).await?;
    // First the prints, then the comparison with the snapshot: whatever is written later changes a print.
    let steps = plan.steps(&origin, &scratch);
    let index = snapshot::index(&scratch);
    let compare = [
        "diff-files",
        "-z",
        "--name-only",
        "--ignore-submodules=dirty",
    ];
    let changed = GitCommand::at(&origin)
        .index(&index)
        .args(compare)
        .succeed()
        .await?;
    let changed: Vec<&OsStr> = changed
        .split(|byte| *byte == 0)
        .map(OsStr::from_bytes)
        .collect();
    if let Some(step) = steps
        .iter()
        .find(|step| changed.contains(&step.path.as_os_str()))
    {
        return Ok(Some(step.path.clone()));
    }
    // The scratch directory is moved along, so that it outlives the operation even if the caller is cancelled.
    blocking::run(move || match replace_all(&origin, &steps, scratch.path()) {
        Ok(()) => Ok(None),
        Err(ReplaceError::Moved(path)) => Ok(Some(path)),
        Err(ReplaceError::Failed(path, error)) => {
            Err(errors::at("write", &origin.join(path))(error))
        }
    })
    .await
}

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
    Applied, Strategy, Workspace, blocking,
    change::{ChangedFile, Changes},
    committed::{self, Work},
    failure,
    git::Git,
    landing::{Print, Step, Stopped, land},
    raw_diff::{self, Difference},
    record::Record,
    repository::Repository,
    scratch::Scratch,
    snapshot::{self, Unreadable},
    staging::{self, Wanted},
    three_way::{Conflict, Sides, merge},
    turn::Turn,
};

/// How often it is tried again when someone writes to the parent's tree meanwhile.
const ATTEMPTS: u32 = 5;

/// Merges and lands what the child left.
pub(super) async fn apply(workspace: &Workspace, strategy: Strategy) -> Result<Applied, Problem> {
    committed::check_surroundings(&workspace.origin).await?;
    let repository = Repository::of(&workspace.origin).await?;
    let _turn = Turn::at(&repository.workshop()).await?;
    let work = committed::commit(workspace).await?;
    if work.changes.files.is_empty() {
        return Ok(Applied::Nothing);
    }
    let sides = Sides::of(workspace, &work).await?;
    let mut moved = workspace.origin.clone();
    for _ in 0..ATTEMPTS {
        match attempt(&sides, &repository, &work, strategy).await? {
            Attempt::Done(applied) => return Ok(applied),
            Attempt::Moved(path) => moved = path,
        }
    }
    Err(failure::restless(&moved))
}

enum Attempt {
    Done(Applied),
    /// This file was changed by someone else after the snapshot.
    Moved(PathBuf),
}

async fn attempt(
    sides: &Sides<'_>,
    repository: &Repository,
    work: &Work,
    strategy: Strategy,
) -> Result<Attempt, Problem> {
    let workspace = sides.workspace;
    let scratch = Scratch::below(repository.workshop()).await?;
    let tree = snapshot::tree(&workspace.origin, &scratch, Unreadable::Skip).await?;
    let merged = merge(sides, &tree).await?;
    let differences = raw_diff::between(&workspace.origin, &tree, &merged.tree).await?;
    let (foreign, ours): (Vec<_>, Vec<_>) = differences.into_iter().partition(Difference::is_repository);
    let mut conflicts: Vec<PathBuf> = merged.conflicts.iter().map(|conflict| conflict.path.clone()).collect();
    let stray = work.inner.iter().filter(|inner| !inner.is_repository).map(|inner| inner.path.clone());
    let unlandable = foreign.into_iter().map(|difference| difference.path).chain(stray);
    let unlandable: Vec<PathBuf> = unlandable.collect();
    let (occupied, ours): (Vec<_>, Vec<_>) =
        ours.into_iter().partition(|difference| is_occupied(&workspace.origin, difference));
    conflicts.extend(unlandable.iter().chain(occupied.iter().map(|difference| &difference.path)).cloned());
    conflicts.sort();
    conflicts.dedup();
    if !conflicts.is_empty() && strategy == Strategy::Refuse {
        return Ok(Attempt::Done(Applied::Conflicts { files: conflicts, applied: Vec::new() }));
    }
    let plan = Plan::new(workspace, ours, left_out(&merged.conflicts, &occupied));
    if let Some(moved) = carry_out(workspace, scratch, &plan).await? {
        return Ok(Attempt::Moved(moved));
    }
    if unlandable.is_empty() {
        Record::note_applied(&workspace.root, work.changes.commit.clone()).await?;
    }
    Ok(Attempt::Done(outcome(plan, conflicts)))
}

/// Whether a new file would take the place of one that the snapshot left out, such as an ignored one.
fn is_occupied(origin: &Path, difference: &Difference) -> bool {
    difference.before.is_none()
        && Print::of(&origin.join(&difference.path)).is_some_and(|found| !found.is_directory())
}

fn outcome(plan: Plan, conflicts: Vec<PathBuf>) -> Applied {
    let files: Vec<ChangedFile> = plan.differences.iter().map(Difference::changed_file).collect();
    let changes = Changes::new(files, None);
    if conflicts.is_empty() {
        return if changes.files.is_empty() { Applied::Nothing } else { Applied::Clean(changes) };
    }
    let applied = changes.paths().into_iter().filter(|path| !conflicts.contains(path)).collect();
    Applied::Conflicts { files: conflicts, applied }
}

/// Versions of the child that may have no place of their own in the parent's tree.
fn left_out(conflicts: &[Conflict], occupied: &[Difference]) -> Vec<Wanted> {
    let clashing = conflicts.iter().filter(|conflict| conflict.has_parents);
    let clashing = clashing.map(|conflict| (&conflict.path, &conflict.childs));
    let occupied = occupied.iter().map(|difference| (&difference.path, &difference.after));
    let wanted = clashing.chain(occupied).filter_map(|(path, version)| {
        let version = version.clone().filter(|version| !version.is_repository())?;
        Some(Wanted { path: path.clone(), version })
    });
    wanted.collect()
}

/// What is to be written where.
struct Plan {
    differences: Vec<Difference>,
    /// Versions of the child that the merge left out, under names of their own.
    beside: Vec<Wanted>,
}

impl Plan {
    fn new(workspace: &Workspace, differences: Vec<Difference>, left_out: Vec<Wanted>) -> Self {
        let name = workspace.root.file_name().unwrap_or_default();
        let is_untouched = |path: &Path| differences.iter().all(|difference| difference.path != path);
        let left_out = left_out.into_iter().filter(|wanted| is_untouched(&wanted.path));
        let beside = left_out.map(|Wanted { path, version }| {
            let mut path = path.into_os_string();
            path.push(".");
            path.push(name);
            Wanted { path: path.into(), version }
        });
        Self { beside: beside.collect(), differences }
    }

    fn wanted(&self) -> Vec<Wanted> {
        let merged = self.differences.iter().filter_map(|difference| {
            let version = difference.after.clone()?;
            Some(Wanted { path: difference.path.clone(), version })
        });
        merged.chain(self.beside.iter().cloned()).collect()
    }

    fn steps(&self, origin: &Path, scratch: &Scratch) -> Vec<Step> {
        let merged = self.differences.iter().map(|difference| Step {
            seen: difference.before.as_ref().and_then(|_| Print::of(&origin.join(&difference.path))),
            new: difference.after.as_ref().map(|_| staging::path_of(scratch, &difference.path)),
            path: difference.path.clone(),
        });
        let beside = self.beside.iter().map(|wanted| Step {
            // A version laid there before is replaced.
            seen: Print::of(&origin.join(&wanted.path)),
            new: Some(staging::path_of(scratch, &wanted.path)),
            path: wanted.path.clone(),
        });
        merged.chain(beside).collect()
    }
}

/// Writes the plan into the parent's tree. If a file moved under us nothing is written, and it is named.
async fn carry_out(workspace: &Workspace, scratch: Scratch, plan: &Plan) -> Result<Option<PathBuf>, Problem> {
    let origin = workspace.origin.clone();
    staging::lay_out(&origin, &scratch, &plan.wanted()).await?;
    // First the prints, then the comparison with the snapshot: whatever is written later changes a print.
    let steps = plan.steps(&origin, &scratch);
    let index = snapshot::index(&scratch);
    let compare = ["diff-files", "-z", "--name-only", "--ignore-submodules=dirty"];
    let changed = Git::at(&origin).index(&index).args(compare).succeed().await?;
    let changed: Vec<&OsStr> = changed.split(|byte| *byte == 0).map(OsStr::from_bytes).collect();
    if let Some(step) = steps.iter().find(|step| changed.contains(&step.path.as_os_str())) {
        return Ok(Some(step.path.clone()));
    }
    // The scratch goes along, so that it outlives the landing even if nobody waits for it.
    blocking::run(move || match land(&origin, &steps, scratch.path()) {
        Ok(()) => Ok(None),
        Err(Stopped::Moved(path)) => Ok(Some(path)),
        Err(Stopped::Failed(path, error)) => Err(failure::at("write", &origin.join(path))(error)),
    })
    .await
}

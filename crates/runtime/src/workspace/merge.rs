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
    failure,
    git::Git,
    landing::{Print, Step, Stopped, land},
    raw_diff::{self, Difference, Version},
    record::Record,
    repository::Repository,
    scratch::Scratch,
    snapshot::{self, Unreadable},
    staging::{self, Wanted},
    turn::Turn,
    worktree::{self, Work},
};

/// How often it is tried again when someone writes to the parent's tree meanwhile.
const ATTEMPTS: u32 = 5;

/// The reference that keeps the parent's tree as it was before.
pub(super) fn before(branch: &str) -> String {
    format!("refs/rooftree/before/{}", branch.trim_start_matches("rooftree/"))
}

/// Merges and lands what the child left.
pub(super) async fn apply(workspace: &Workspace, strategy: Strategy) -> Result<Applied, Problem> {
    let repository = Repository::of(&workspace.origin).await?;
    let _turn = Turn::at(&repository.workshop()).await?;
    let work = worktree::committed(workspace).await?;
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

/// What is merged against what.
struct Sides<'a> {
    workspace: &'a Workspace,
    branch: &'a str,
    /// What both sides have in common: what was applied last, else what the child found.
    base: String,
}

impl<'a> Sides<'a> {
    async fn of(workspace: &'a Workspace, work: &Work) -> Result<Self, Problem> {
        let (base, branch) = worktree::marks(workspace)?;
        let applied = Record::of(&workspace.root).await.and_then(|record| record.applied);
        // The same work again starts from the beginning: someone may have undone it.
        let applied = applied.filter(|applied| work.changes.commit.as_ref() != Some(applied));
        Ok(Self { workspace, branch, base: applied.unwrap_or_else(|| base.to_owned()) })
    }
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
    let unlandable = foreign.into_iter().map(|difference| difference.path).chain(work.beyond.iter().cloned());
    let unlandable: Vec<PathBuf> = unlandable.collect();
    conflicts.extend(unlandable.iter().cloned());
    conflicts.sort();
    conflicts.dedup();
    if !conflicts.is_empty() && strategy == Strategy::Refuse {
        return Ok(Attempt::Done(Applied::Conflicts { files: conflicts, applied: Vec::new() }));
    }
    let plan = Plan::new(workspace, ours, &merged.conflicts);
    if let Some(moved) = carry_out(workspace, scratch, &plan).await? {
        return Ok(Attempt::Moved(moved));
    }
    if unlandable.is_empty() {
        Record::note_applied(&workspace.root, work.changes.commit.clone()).await?;
    }
    Ok(Attempt::Done(outcome(plan, conflicts)))
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

/// A merged tree, and where it could not be merged.
struct Merged {
    tree: String,
    conflicts: Vec<Conflict>,
}

/// A path both sides changed, with the child's version if there is one.
struct Conflict {
    path: PathBuf,
    has_parents: bool,
    childs: Option<Version>,
}

async fn merge(sides: &Sides<'_>, tree: &str) -> Result<Merged, Problem> {
    let Sides { workspace, branch, base } = sides;
    let origin = workspace.origin.as_path();
    let message = format!("rooftree: the tree before {branch} was applied");
    let parents = snapshot::commit(origin, tree, std::slice::from_ref(base), &message).await?;
    let reference = before(branch);
    Git::at(origin).args(["update-ref", &reference, &parents]).succeed().await?;
    // Both sides are given by name, because these names stand in conflict markers.
    let settings = ["-c", "merge.directoryRenames=false", "-c", "merge.conflictStyle=merge"];
    let how = ["merge-tree", "--write-tree", "-z", "--no-messages"];
    let command = Git::at(origin).args(settings).args(how).arg(format!("--merge-base={base}"));
    let answer = command.arg(&reference).arg(branch).answer_within(&[0, 1]).await.map_err(|problem| {
        problem.fix(format!("applying needs git 2.40 or newer; the work is on branch {branch}"))
    })?;
    let mut pieces = answer.output.split(|byte| *byte == 0);
    let tree = String::from_utf8_lossy(pieces.next().unwrap_or_default()).into_owned();
    Ok(Merged { tree, conflicts: conflicts(pieces) })
}

/// Each line is `mode object stage<TAB>path`; stage 2 is the parent's version, 3 the child's.
fn conflicts<'a>(lines: impl Iterator<Item = &'a [u8]>) -> Vec<Conflict> {
    let mut found: Vec<Conflict> = Vec::new();
    for line in lines {
        let Some(tab) = line.iter().position(|byte| *byte == b'\t') else { continue };
        let Some((facts, path)) = line.split_at_checked(tab) else { continue };
        let path = PathBuf::from(OsStr::from_bytes(path.get(1..).unwrap_or_default()));
        let facts = String::from_utf8_lossy(facts).into_owned();
        let facts: Vec<&str> = facts.split(' ').collect();
        let [mode, object, stage] = facts.as_slice() else { continue };
        if found.last().is_none_or(|last| last.path != path) {
            found.push(Conflict { path, has_parents: false, childs: None });
        }
        match (found.last_mut(), *stage) {
            (Some(conflict), "2") => conflict.has_parents = true,
            (Some(conflict), "3") => conflict.childs = raw_diff::version(mode, object),
            _ => {}
        }
    }
    found
}

/// What is to be written where.
struct Plan {
    differences: Vec<Difference>,
    /// Versions of the child that the merge left out, under names of their own.
    beside: Vec<Wanted>,
}

impl Plan {
    fn new(workspace: &Workspace, differences: Vec<Difference>, conflicts: &[Conflict]) -> Self {
        let name = workspace.root.file_name().unwrap_or_default();
        let is_untouched = |path: &Path| differences.iter().all(|difference| difference.path != path);
        let left_out =
            conflicts.iter().filter(|conflict| conflict.has_parents && is_untouched(&conflict.path));
        let beside = left_out.filter_map(|conflict| {
            let version = conflict.childs.clone().filter(|version| !version.is_repository())?;
            let mut path = conflict.path.clone().into_os_string();
            path.push(".");
            path.push(name);
            Some(Wanted { path: path.into(), version })
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
    let changed = Git::at(&origin).index(&index).args(["diff-files", "-z", "--name-only"]).succeed().await?;
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

//! Merges two trees against what they have in common. Git does it without touching any file.

use std::{ffi::OsStr, os::unix::ffi::OsStrExt, path::PathBuf};

use rooftree_protocol::Problem;

use super::{
    Workspace,
    committed::CommittedWork,
    git::GitCommand,
    raw_diff::{self, TreeFile},
    record::CopyRecord,
    snapshot, worktree,
};

/// The reference that keeps the parent's tree as it was before.
pub(super) fn before(branch: &str) -> String {
    format!(
        "refs/rooftree/before/{}",
        branch.trim_start_matches("rooftree/")
    )
}

/// What is merged against what.
pub(super) struct MergeSides<'a> {
    pub workspace: &'a Workspace,
    pub branch: &'a str,
    /// What both sides have in common: what was applied last, else what the child found.
    pub base: String,
}

impl<'a> MergeSides<'a> {
    pub async fn of(workspace: &'a Workspace, work: &CommittedWork) -> Result<Self, Problem> {
        let (base, branch) = worktree::marks(workspace)?;
        let applied = CopyRecord::of(&workspace.root)
            .await
            .and_then(|record| record.applied);
        // The same work again starts from the beginning: someone may have undone it.
        let applied = applied.filter(|applied| work.changes.commit.as_ref() != Some(applied));
        Ok(Self {
            workspace,
            branch,
            base: applied.unwrap_or_else(|| base.to_owned()),
        })
    }
}

/// A merged tree, and where it could not be merged.
pub(super) struct MergedTree {
    pub tree: String,
    pub conflicts: Vec<MergeConflict>,
}

/// A path both sides changed, with the child's version if there is one.
pub(super) struct MergeConflict {
    pub path: PathBuf,
    pub has_parents: bool,
    pub childs: Option<TreeFile>,
}

pub(super) async fn merge(sides: &MergeSides<'_>, tree: &str) -> Result<MergedTree, Problem> {
    let MergeSides {
        workspace,
        branch,
        base,
    } = sides;
    let origin = workspace.origin.as_path();
    let message = format!("rooftree: the tree before {branch} was applied");
    let parents = snapshot::commit(origin, tree, std::slice::from_ref(base), &message).await?;
    let reference = before(branch);
    GitCommand::at(origin)
        .args(["update-ref", &reference, &parents])
        .succeed()
        .await?;
    // Both sides are given by name, because these names stand in conflict markers.
    let how = ["merge-tree", "--write-tree", "-z", "--no-messages"];
    let command = GitCommand::at(origin)
        .args(how)
        .arg(format!("--merge-base={base}"));
    let answer = command
        .arg(&reference)
        .arg(branch)
        .answer_within(&[0, 1])
        .await
        .map_err(|problem| {
            problem.fix(format!(
                "applying needs git 2.40 or newer; the work is on branch {branch}"
            ))
        })?;
    let mut pieces = answer.output.split(|byte| *byte == 0);
    let tree = String::from_utf8_lossy(pieces.next().unwrap_or_default()).into_owned();
    Ok(MergedTree {
        tree,
        conflicts: conflicts(pieces),
    })
}

/// Each line is `mode object stage<TAB>path`; stage 2 is the parent's version, 3 the child's.
fn conflicts<'a>(lines: impl Iterator<Item = &'a [u8]>) -> Vec<MergeConflict> {
    let mut found: Vec<MergeConflict> = Vec::new();
    for line in lines {
        let Some(tab) = line.iter().position(|byte| *byte == b'\t') else {
            continue;
        };
        let Some((facts, path)) = line.split_at_checked(tab) else {
            continue;
        };
        let path = PathBuf::from(OsStr::from_bytes(path.get(1..).unwrap_or_default()));
        let facts = String::from_utf8_lossy(facts).into_owned();
        let facts: Vec<&str> = facts.split(' ').collect();
        let [mode, object, stage] = facts.as_slice() else {
            continue;
        };
        if found.last().is_none_or(|last| last.path != path) {
            found.push(MergeConflict {
                path,
                has_parents: false,
                childs: None,
            });
        }
        match (found.last_mut(), *stage) {
            (Some(conflict), "2") => conflict.has_parents = true,
            (Some(conflict), "3") => conflict.childs = raw_diff::version(mode, object),
            _ => {}
        }
    }
    found
}

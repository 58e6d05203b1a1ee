//! Brings a plain copy's changes into the parent's tree, file by file.

use std::path::PathBuf;

use rooftree_protocol::Problem;

use super::{
    ApplyOutcome, ConflictStrategy, Workspace, blocking,
    change::{ChangedFile, WorkspaceChanges},
    copied::{self, CopyInspection, TouchedPath},
    errors,
    file_entry::FileEntry,
    file_merge::{FileMerge, FileMergeOutcome},
    manifest::{self, CopyManifest},
    record::CopyRecord,
    replace_files::{FileReplacement, FileSnapshot, ReplaceError, replace_all},
    repository_lock::RepositoryLock,
    scratch::ScratchDir,
};

/// How often it is tried again when someone writes to the parent's tree meanwhile.
const ATTEMPTS: u32 = 5;

/// Merges and lands what the child left.
pub(super) async fn apply(
    workspace: &Workspace,
    strategy: ConflictStrategy,
) -> Result<ApplyOutcome, Problem> {
    let place = workspace.root.parent().unwrap_or(&workspace.root);
    let _turn = RepositoryLock::at(place).await?;
    let mut inspection = copied::inspect(workspace).await?;
    if inspection.touched.is_empty() {
        return Ok(ApplyOutcome::Nothing);
    }
    start_from_applied(workspace, &mut inspection).await;
    let mut moved = workspace.origin.clone();
    for _ in 0..ATTEMPTS {
        let plan = CopyMergePlan::of(workspace, &inspection).await?;
        if !plan.conflicts.is_empty() && strategy == ConflictStrategy::Refuse {
            return Ok(ApplyOutcome::Conflicts {
                files: plan.conflicts,
                applied: Vec::new(),
            });
        }
        let (conflicts, steps) = (plan.conflicts.clone(), plan.steps.clone());
        match plan.carry_out(workspace).await? {
            Some(path) => moved = path,
            None => {
                remember(workspace, &inspection).await?;
                CopyRecord::note_applied(&workspace.root, inspection.mark.clone()).await?;
                return Ok(outcome(inspection.changes, &steps, conflicts));
            }
        }
    }
    Err(errors::keeps_changing(&moved))
}

/// Both sides have in common what was applied last. The same work again starts from the beginning:
/// someone may have undone it.
async fn start_from_applied(workspace: &Workspace, inspection: &mut CopyInspection) {
    let root = workspace.root.clone();
    let is_again = CopyRecord::of(&root)
        .await
        .is_none_or(|record| record.is_applied(inspection.mark.as_deref()));
    let read = move || CopyManifest::read(&manifest::applied(&root));
    let Ok(mut applied) = blocking::run(read).await else {
        return;
    };
    for touched in inspection.touched.iter_mut().filter(|_| !is_again) {
        touched.found = applied
            .0
            .remove(&touched.path)
            .or_else(|| touched.found.take());
    }
}

/// Keeps what was applied, as the beginning of the next time.
async fn remember(workspace: &Workspace, inspection: &CopyInspection) -> Result<(), Problem> {
    let (root, touched) = (workspace.root.clone(), inspection.touched.clone());
    blocking::run(move || {
        let mut applied = CopyManifest::default();
        for TouchedPath { path, left, .. } in touched {
            let Some(left) = left else { continue };
            let file = root.join(&path);
            manifest::keep(&root, &file, &left).map_err(errors::at("copy", &file))?;
            applied.0.insert(path, left);
        }
        let list = manifest::applied(&root);
        applied.write(&list).map_err(errors::at("write", &list))
    })
    .await
}

fn outcome(
    changes: WorkspaceChanges,
    steps: &[FileReplacement],
    conflicts: Vec<PathBuf>,
) -> ApplyOutcome {
    let is_landed = |file: &ChangedFile| steps.iter().any(|step| step.path == file.path);
    let landed = WorkspaceChanges::new(changes.files.into_iter().filter(is_landed).collect(), None);
    if conflicts.is_empty() {
        return if landed.files.is_empty() {
            ApplyOutcome::Nothing
        } else {
            ApplyOutcome::Clean(landed)
        };
    }
    let applied = landed
        .paths()
        .into_iter()
        .filter(|path| !conflicts.contains(path))
        .collect();
    ApplyOutcome::Conflicts {
        files: conflicts,
        applied,
    }
}

/// What is to be written where, with new versions laid out in the scratch.
struct CopyMergePlan {
    scratch: ScratchDir,
    steps: Vec<FileReplacement>,
    conflicts: Vec<PathBuf>,
}

impl CopyMergePlan {
    async fn of(workspace: &Workspace, inspection: &CopyInspection) -> Result<Self, Problem> {
        let scratch = ScratchDir::below(workspace.origin.clone()).await?;
        let mut plan = Self {
            scratch,
            steps: Vec::new(),
            conflicts: Vec::new(),
        };
        for (number, touched) in inspection.touched.iter().enumerate() {
            // The print comes before the content is read: whatever is written later changes it.
            let target = workspace.origin.join(&touched.path);
            let seen = FileSnapshot::of(&target);
            let own = FileEntry::of(&target).map_err(errors::at("read", &target))?;
            let draft = plan.scratch.path().join(format!("new-{number}"));
            let case = FileMerge {
                workspace,
                touched,
                own: own.as_ref(),
                draft: &draft,
            };
            plan.take(&case, case.judge().await?, seen)?;
        }
        Ok(plan)
    }

    fn take(
        &mut self,
        case: &FileMerge<'_>,
        verdict: FileMergeOutcome,
        seen: Option<FileSnapshot>,
    ) -> Result<(), Problem> {
        let path = case.touched.path.clone();
        match verdict {
            FileMergeOutcome::Same => {}
            FileMergeOutcome::Land(new) => self.steps.push(FileReplacement { path, seen, new }),
            FileMergeOutcome::Marked(new) => {
                self.conflicts.push(path.clone());
                self.steps.push(FileReplacement {
                    path,
                    seen,
                    new: Some(new),
                });
            }
            FileMergeOutcome::Clash => {
                self.conflicts.push(path.clone());
                if case.touched.left.is_some() {
                    // A file the parent deleted comes back; beside a file that it changed, the child's is laid.
                    let path = if case.own.is_none() {
                        path
                    } else {
                        case.beside()
                    };
                    let seen = FileSnapshot::of(&case.workspace.origin.join(&path));
                    self.steps.push(FileReplacement {
                        path,
                        seen,
                        new: Some(case.lay_out()?),
                    });
                }
            }
        }
        Ok(())
    }

    /// Writes the plan into the parent's tree. If a file moved under us nothing is written, and it is named.
    async fn carry_out(self, workspace: &Workspace) -> Result<Option<PathBuf>, Problem> {
        let origin = workspace.origin.clone();
        blocking::run(
            move || match replace_all(&origin, &self.steps, self.scratch.path()) {
                Ok(()) => Ok(None),
                Err(ReplaceError::Moved(path)) => Ok(Some(path)),
                Err(ReplaceError::Failed(path, error)) => {
                    Err(errors::at("write", &origin.join(path))(error))
                }
            },
        )
        .await
    }
}

//! Plans what an undo does to each file, by comparing it with what the run left, and carries it out.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use rooftree_protocol::{
    ErrorCode, Problem, Session,
    file_undo::{FileUndo, PriorContent, UndoStep, UndoneFile},
};
use rooftree_store::Store;
use rooftree_tools::file_restore::{FileNow, file_now, remove_created, restore_file};

use tokio::task::JoinError;

use super::changes::{self, RecordedChange, RunFileChanges};
use crate::Error;

/// An undo that can be carried out.
pub(super) struct UndoPlan {
    pub(super) undo: FileUndo,
    /// What each file was, beside the files of `undo`.
    targets: Vec<PlannedFile>,
}

/// What the run did to one file, first to last.
struct PlannedFile {
    path: PathBuf,
    was: PriorContent,
    /// Every content that the file may have if only the run changed it: a call that was cut off may or may not have
    /// made its change. None stands for no file.
    left: Vec<Option<String>>,
}

impl UndoPlan {
    /// The plan for the last run that has file changes and was not undone.
    pub(super) async fn of(store: &dyn Store, session: &Session) -> Result<Option<Self>, Error> {
        let runs = changes::runs(store, session).await?;
        let last = runs.into_iter().rev().find(RunFileChanges::can_be_undone);
        let Some(last) = last else {
            return Ok(None);
        };
        let cwd = session.cwd.clone();
        // Files are read and hashed.
        let planned = tokio::task::spawn_blocking(move || plan(last, &cwd)).await;
        planned.map(Some).map_err(|error| broken(&error))
    }

    /// Restores and deletes files, and says what came of each.
    pub(super) async fn carry_out(self, store: &dyn Store) -> Result<FileUndo, Error> {
        let Self { mut undo, targets } = self;
        for (file, target) in undo.files.iter_mut().zip(targets) {
            if !matches!(file.step, UndoStep::Restore | UndoStep::Delete) {
                continue;
            }
            let bytes = match &target.was {
                PriorContent::Stored { blob, mode, .. } => {
                    let bytes = store.blob(blob).await?;
                    let Some(bytes) = bytes else {
                        file.step = skip("its earlier content is not in the database any more");
                        continue;
                    };
                    Some((bytes, *mode))
                }
                _ => None,
            };
            let step = file.step.clone();
            let done = tokio::task::spawn_blocking(move || target.apply(bytes, step)).await;
            file.step = done.map_err(|error| broken(&error))?;
        }
        Ok(undo)
    }
}

impl PlannedFile {
    /// What is to be done, by what is there now.
    fn step(&self, cwd: &Path) -> UndoStep {
        if !self.path.starts_with(cwd) {
            return skip("it is outside of the working directory");
        }
        let now = match file_now(&self.path) {
            FileNow::Other(because) => return skip(&because),
            FileNow::Absent => None,
            FileNow::Content(hash) => Some(hash),
        };
        let was = match &self.was {
            PriorContent::Absent => None,
            PriorContent::Stored { hash, .. } => Some(hash.clone()),
            PriorContent::NotStored { because } => {
                return skip(&format!("its earlier content was not kept: {because}"));
            }
        };
        match &self.was {
            _ if now == was => UndoStep::Unchanged,
            _ if !self.left.contains(&now) => skip("it was changed since"),
            PriorContent::Absent => UndoStep::Delete,
            _ => UndoStep::Restore,
        }
    }

    /// Does it, unless the file has changed since it was planned.
    fn apply(&self, bytes: Option<(Vec<u8>, u32)>, step: UndoStep) -> UndoStep {
        let is_as_left = match file_now(&self.path) {
            FileNow::Absent => self.left.contains(&None),
            FileNow::Content(hash) => self.left.contains(&Some(hash)),
            FileNow::Other(_) => false,
        };
        if !is_as_left {
            return skip("it was changed since");
        }
        let done = match bytes {
            Some((bytes, mode)) => restore_file(&self.path, &bytes, mode),
            None => remove_created(&self.path),
        };
        match done {
            Ok(()) => step,
            Err(error) => skip(&format!("it could not be changed: {error}")),
        }
    }
}

fn plan(run: RunFileChanges, cwd: &Path) -> UndoPlan {
    let mut by_path: BTreeMap<PathBuf, Vec<RecordedChange>> = BTreeMap::new();
    for change in run.changes {
        let path = change.file.path.clone();
        by_path.entry(path).or_default().push(change);
    }
    let targets: Vec<PlannedFile> = by_path
        .into_iter()
        .filter_map(|(path, changes)| {
            let was = changes.first()?.file.was.clone();
            Some(PlannedFile {
                path,
                was,
                left: left_by(&changes),
            })
        })
        .collect();
    let files = targets
        .iter()
        .map(|target| UndoneFile {
            path: target.path.clone(),
            step: target.step(cwd),
        })
        .collect();
    let undo = FileUndo {
        run: run.run,
        title: run.title,
        files,
        remarks: run.remarks,
    };
    UndoPlan { undo, targets }
}

/// What the last change left, and, if it is not known whether that was made, the one before it.
fn left_by(changes: &[RecordedChange]) -> Vec<Option<String>> {
    let mut left = Vec::new();
    for change in changes.iter().rev() {
        left.push(change.file.becomes.clone());
        if change.is_made {
            break;
        }
    }
    left
}

/// A blocking task that panicked or was stopped at shutdown.
fn broken(error: &JoinError) -> Error {
    Problem::new(
        ErrorCode::Internal,
        format!("files could not be compared: {error}"),
    )
    .into()
}

fn skip(because: &str) -> UndoStep {
    UndoStep::Skip {
        because: because.to_owned(),
    }
}

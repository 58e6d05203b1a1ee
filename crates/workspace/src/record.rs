//! Record of a working copy, stored beside it: its owner, its state, and what of it was applied.
//!
//! It is written before the copy is made, so that a crash leaves no unrecorded copy.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
};

use rooftree_process::{ProcessIdentity, is_alive};
use rooftree_protocol::Problem;
use rooftree_stdx::atomic_file::{self, AtomicFile};
use serde::{Deserialize, Serialize};

use super::{Workspace, blocking, errors};

/// What may lie under a copy's name, with the copy itself; a name is free when nothing does.
const ENDINGS: [&str; 4] = ["", ASIDE, REMOVED, KEPT];
/// A copy that is looked at for the last time.
pub(super) const ASIDE: &str = ".aside";
/// A copy of which it is sure that it may go.
pub(super) const REMOVED: &str = ".removed";
/// Changed files of a plain copy that is gone.
pub(super) const KEPT: &str = ".kept";

/// State of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum CopyState {
    /// It is being made; no agent has worked in it.
    Making,
    /// It was handed out.
    Ready,
}

/// Metadata of a copy.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct CopyRecord {
    pub workspace: Workspace,
    pub state: CopyState,
    /// What was last applied, as [`CopyRecord::is_applied`] compares it.
    #[serde(default)]
    pub applied: Option<String>,
    owner: CopyOwner,
}

/// The process that made it.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct CopyOwner {
    process: i32,
    start: u64,
}

impl CopyRecord {
    /// Takes a name; says whether it was free.
    pub async fn reserve(workspace: &Workspace) -> Result<bool, Problem> {
        let process = i32::try_from(std::process::id()).unwrap_or(0);
        let start = ProcessIdentity::of(process).map_or(0, |own| own.start);
        let owner = CopyOwner { process, start };
        let record = Self {
            workspace: workspace.clone(),
            state: CopyState::Making,
            applied: None,
            owner,
        };
        blocking::run(move || {
            let path = path_of(&record.workspace.root);
            let mut taken = ENDINGS
                .iter()
                .map(|ending| beside(&record.workspace.root, ending));
            if taken.any(|path| path.symlink_metadata().is_ok()) {
                return Ok(false);
            }
            let text = record.to_json()?;
            let write = || {
                let mut file = AtomicFile::create(&path)?;
                file.write_all(&text)?;
                file.commit_new()
            };
            write().map_err(errors::at("write", &path))
        })
        .await
    }

    /// The record of the copy with this root; none if there is none that can be read.
    pub async fn of(root: &Path) -> Option<Self> {
        let path = path_of(root);
        blocking::run(move || Ok(read(&path))).await.ok().flatten()
    }

    /// All records in a directory.
    pub async fn all(directory: &Path) -> Vec<Self> {
        let directory = directory.to_owned();
        let read_all = move || {
            let entries = fs::read_dir(&directory).map_err(errors::at("open", &directory))?;
            let paths = entries.flatten().map(|entry| entry.path());
            let mut paths: Vec<PathBuf> = paths
                .filter(|path| path.extension().is_some_and(|it| it == "json"))
                .collect();
            paths.sort();
            Ok(paths.iter().filter_map(|path| read(path)).collect())
        };
        blocking::run(read_all).await.unwrap_or_default()
    }

    /// Notes that the copy is handed out.
    pub async fn note_ready(root: &Path) -> Result<(), Problem> {
        Self::change(root, |record| record.state = CopyState::Ready).await
    }

    /// Notes that the work which `mark` stands for is in the parent's tree.
    pub async fn note_applied(root: &Path, mark: Option<String>) -> Result<(), Problem> {
        Self::change(root, |record| record.applied = mark).await
    }

    pub fn is_applied(&self, mark: Option<&str>) -> bool {
        mark.is_some() && self.applied.as_deref() == mark
    }

    /// Whether the process that made it still lives.
    pub fn is_owned(&self) -> bool {
        is_alive(ProcessIdentity {
            group: self.owner.process,
            start: self.owner.start,
        })
    }

    pub async fn remove(root: &Path) {
        let path = path_of(root);
        // Without its copy a record says nothing, so one that stays is only clutter.
        let _ = blocking::run(move || fs::remove_file(&path).map_err(errors::at("remove", &path)))
            .await;
    }

    async fn change(root: &Path, change: impl FnOnce(&mut Self)) -> Result<(), Problem> {
        let Some(mut record) = Self::of(root).await else {
            return Ok(());
        };
        change(&mut record);
        let path = path_of(root);
        blocking::run(move || {
            let text = record.to_json()?;
            atomic_file::replace(&path, &text).map_err(errors::at("write", &path))
        })
        .await
    }

    fn to_json(&self) -> Result<Vec<u8>, Problem> {
        serde_json::to_vec_pretty(self)
            .map_err(|error| errors::failed("write down the workspace").cause(error.to_string()))
    }
}

/// The copy that a directory lies in, by the record beside it.
pub(super) fn around(directory: &Path) -> Option<Workspace> {
    directory
        .ancestors()
        .find_map(|above| read(&path_of(above)))
        .map(|record| record.workspace)
}

fn read(path: &Path) -> Option<CopyRecord> {
    let record: CopyRecord = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
    (path_of(&record.workspace.root) == path).then_some(record)
}

/// What belongs to a copy lies beside it, under its name.
pub(super) fn beside(root: &Path, ending: &str) -> PathBuf {
    let mut name = root.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

fn path_of(root: &Path) -> PathBuf {
    beside(root, ".json")
}

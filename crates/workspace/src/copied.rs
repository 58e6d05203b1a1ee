//! Finds the changes of a child in a plain copy, by comparing it with its manifest.

use std::path::{Path, PathBuf};

use rooftree_protocol::Problem;
use similar::{ChangeTag, TextDiff};

use super::{
    Workspace, blocking,
    change::{ChangedFile, FileChangeKind, WorkspaceChanges},
    copy, errors,
    file_entry::{self, EntryKind, FileEntry},
    manifest::{self, CopyManifest},
};

/// A path that is not as it was.
#[derive(Clone, Debug)]
pub(super) struct TouchedPath {
    pub path: PathBuf,
    pub found: Option<FileEntry>,
    pub left: Option<FileEntry>,
}

/// All that is not as it was.
#[derive(Clone, Debug)]
pub(super) struct CopyInspection {
    pub touched: Vec<TouchedPath>,
    pub changes: WorkspaceChanges,
    /// Stands for exactly this state of the work; none if nothing changed.
    pub mark: Option<String>,
}

/// Says what the child changed.
pub(super) async fn changes(workspace: &Workspace) -> Result<WorkspaceChanges, Problem> {
    inspect(workspace)
        .await
        .map(|inspection| inspection.changes)
}

/// Compares the copy with its manifest.
pub(super) async fn inspect(workspace: &Workspace) -> Result<CopyInspection, Problem> {
    let root = workspace.root.clone();
    blocking::run(move || {
        let touched = touched(&root)?;
        let files = touched
            .iter()
            .map(|touched| changed_file(&root, touched))
            .collect();
        let mark = (!touched.is_empty()).then(|| mark(&touched));
        Ok(CopyInspection {
            changes: WorkspaceChanges::new(files, None),
            touched,
            mark,
        })
    })
    .await
}

fn touched(root: &Path) -> Result<Vec<TouchedPath>, Problem> {
    let manifest = CopyManifest::read(&manifest::found(root))?;
    let mut touched = Vec::new();
    // Known files are looked at one by one: that one is ignored now does not mean that it is gone.
    for (path, found) in &manifest.0 {
        let left = look(root, path)?;
        if left.as_ref() != Some(found) {
            touched.push(TouchedPath {
                path: path.clone(),
                found: Some(found.clone()),
                left,
            });
        }
    }
    for entry in copy::walk(root, None) {
        let entry = entry
            .map_err(|error| errors::failed("look through the copy").cause(error.to_string()))?;
        let Ok(path) = entry.path().strip_prefix(root) else {
            continue;
        };
        if manifest.0.contains_key(path) || entry.file_type().is_none_or(|sort| sort.is_dir()) {
            continue;
        }
        if let Some(left) = look(root, path)?.filter(|left| left.sort != EntryKind::Other) {
            touched.push(TouchedPath {
                path: path.to_owned(),
                found: None,
                left: Some(left),
            });
        }
    }
    touched.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(touched)
}

/// A directory in a file's place means that the file is gone.
fn look(root: &Path, path: &Path) -> Result<Option<FileEntry>, Problem> {
    let path = root.join(path);
    let entry = FileEntry::of(&path).map_err(errors::at("read", &path))?;
    Ok(entry.filter(|entry| entry.sort != EntryKind::Other))
}

fn changed_file(root: &Path, touched: &TouchedPath) -> ChangedFile {
    let text =
        |path: Option<PathBuf>| path.map_or(Some(String::new()), |path| file_entry::text(&path));
    let is_file = |entry: &&FileEntry| entry.is_file();
    let before = text(
        touched
            .found
            .as_ref()
            .filter(is_file)
            .map(|found| manifest::kept(root, found)),
    );
    let after = text(
        touched
            .left
            .as_ref()
            .filter(is_file)
            .map(|_| root.join(&touched.path)),
    );
    let (added, removed) = match (before, after) {
        (Some(before), Some(after)) => lines(&before, &after),
        _ => (0, 0),
    };
    let action = match (&touched.found, &touched.left) {
        (None, _) => FileChangeKind::Added,
        (_, None) => FileChangeKind::Deleted,
        _ => FileChangeKind::Changed,
    };
    ChangedFile {
        path: touched.path.clone(),
        action,
        added,
        removed,
    }
}

fn lines(before: &str, after: &str) -> (u64, u64) {
    let (mut added, mut removed) = (0, 0);
    for change in TextDiff::from_lines(before, after).iter_all_changes() {
        match change.tag() {
            ChangeTag::Insert => added += 1,
            ChangeTag::Delete => removed += 1,
            ChangeTag::Equal => {}
        }
    }
    (added, removed)
}

fn mark(touched: &[TouchedPath]) -> String {
    let lines = touched
        .iter()
        .map(|touched| format!("{:?} {:?}", touched.path, touched.left));
    file_entry::digest_of(lines.collect::<Vec<_>>().join("\n").as_bytes())
}

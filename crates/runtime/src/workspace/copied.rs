//! What a child changed in a plain copy, found by comparing it with its manifest.

use std::path::{Path, PathBuf};

use rooftree_protocol::Problem;
use similar::{ChangeTag, TextDiff};

use super::{
    Workspace, blocking,
    change::{Action, ChangedFile, Changes},
    copy,
    entry::{self, Entry, Sort},
    failure,
    manifest::{self, Manifest},
};

/// A path that is not as it was.
#[derive(Clone, Debug)]
pub(super) struct Touched {
    pub path: PathBuf,
    pub found: Option<Entry>,
    pub left: Option<Entry>,
}

/// All that is not as it was.
#[derive(Clone, Debug)]
pub(super) struct Inspection {
    pub touched: Vec<Touched>,
    pub changes: Changes,
    /// Stands for exactly this state of the work; none if nothing changed.
    pub mark: Option<String>,
}

/// Says what the child changed.
pub(super) async fn changes(workspace: &Workspace) -> Result<Changes, Problem> {
    inspect(workspace).await.map(|inspection| inspection.changes)
}

/// Compares the copy with its manifest.
pub(super) async fn inspect(workspace: &Workspace) -> Result<Inspection, Problem> {
    let root = workspace.root.clone();
    blocking::run(move || {
        let touched = touched(&root)?;
        let files = touched.iter().map(|touched| changed_file(&root, touched)).collect();
        let mark = (!touched.is_empty()).then(|| mark(&touched));
        Ok(Inspection { changes: Changes::new(files, None), touched, mark })
    })
    .await
}

fn touched(root: &Path) -> Result<Vec<Touched>, Problem> {
    let manifest = Manifest::read(&manifest::found(root))?;
    let mut touched = Vec::new();
    // Known files are looked at one by one: that one is ignored now does not mean that it is gone.
    for (path, found) in &manifest.0 {
        let left = look(root, path)?;
        if left.as_ref() != Some(found) {
            touched.push(Touched { path: path.clone(), found: Some(found.clone()), left });
        }
    }
    for entry in copy::walk(root, None) {
        let entry =
            entry.map_err(|error| failure::failed("look through the copy").cause(error.to_string()))?;
        let Ok(path) = entry.path().strip_prefix(root) else { continue };
        if manifest.0.contains_key(path) || entry.file_type().is_none_or(|sort| sort.is_dir()) {
            continue;
        }
        if let Some(left) = look(root, path)?.filter(|left| left.sort != Sort::Other) {
            touched.push(Touched { path: path.to_owned(), found: None, left: Some(left) });
        }
    }
    touched.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(touched)
}

/// A directory in a file's place means that the file is gone.
fn look(root: &Path, path: &Path) -> Result<Option<Entry>, Problem> {
    let path = root.join(path);
    let entry = Entry::of(&path).map_err(failure::at("read", &path))?;
    Ok(entry.filter(|entry| entry.sort != Sort::Other))
}

fn changed_file(root: &Path, touched: &Touched) -> ChangedFile {
    let text = |path: Option<PathBuf>| path.map_or(Some(String::new()), |path| entry::text(&path));
    let is_file = |entry: &&Entry| entry.is_file();
    let before = text(touched.found.as_ref().filter(is_file).map(|found| manifest::kept(root, found)));
    let after = text(touched.left.as_ref().filter(is_file).map(|_| root.join(&touched.path)));
    let (added, removed) = match (before, after) {
        (Some(before), Some(after)) => lines(&before, &after),
        _ => (0, 0),
    };
    let action = match (&touched.found, &touched.left) {
        (None, _) => Action::Added,
        (_, None) => Action::Deleted,
        _ => Action::Changed,
    };
    ChangedFile { path: touched.path.clone(), action, added, removed }
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

fn mark(touched: &[Touched]) -> String {
    let lines = touched.iter().map(|touched| format!("{:?} {:?}", touched.path, touched.left));
    entry::digest_of(lines.collect::<Vec<_>>().join("\n").as_bytes())
}

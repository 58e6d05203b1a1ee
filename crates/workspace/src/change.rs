//! Changes of a child in its workspace: files, lines, and a summary to read.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize, Serializer};

/// How many files the summary names.
const NAMED: usize = 50;

/// What happened to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileChangeKind {
    /// It is new.
    Added,
    /// Its content or its mode is another.
    Changed,
    /// It is gone.
    Deleted,
}

/// A file that is not as it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedFile {
    /// Relative to the root. Bytes that are not text are written as replacement characters.
    #[serde(serialize_with = "as_text")]
    pub path: PathBuf,
    /// What happened to it.
    pub action: FileChangeKind,
    /// Lines that came; 0 for what is not text.
    pub added: u64,
    /// Lines that went; 0 for what is not text.
    pub removed: u64,
}

/// All that changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkspaceChanges {
    /// In the order of their paths.
    pub files: Vec<ChangedFile>,
    /// The same to read: a line per file and a sum.
    pub diffstat: String,
    /// The commit on the child's branch that holds it; none in a plain copy, or if nothing changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
}

impl WorkspaceChanges {
    pub(super) fn new(mut files: Vec<ChangedFile>, commit: Option<String>) -> Self {
        files.sort_by(|one, other| one.path.cmp(&other.path));
        Self {
            diffstat: diffstat(&files),
            files,
            commit,
        }
    }

    /// The paths alone.
    pub(super) fn paths(&self) -> Vec<PathBuf> {
        self.files.iter().map(|file| file.path.clone()).collect()
    }
}

fn diffstat(files: &[ChangedFile]) -> String {
    if files.is_empty() {
        return String::new();
    }
    let mut lines: Vec<String> = files.iter().take(NAMED).map(line).collect();
    if files.len() > NAMED {
        lines.push(format!(" … and {} more", files.len() - NAMED));
    }
    let sum = |count: fn(&ChangedFile) -> u64| files.iter().map(count).sum::<u64>();
    let noun = if files.len() == 1 { "file" } else { "files" };
    let (added, removed) = (sum(|file| file.added), sum(|file| file.removed));
    lines.push(format!(
        " {} {noun} changed, {added} insertions(+), {removed} deletions(-)",
        files.len()
    ));
    lines.join("\n")
}

fn line(file: &ChangedFile) -> String {
    let mark = match file.action {
        FileChangeKind::Added => "A",
        FileChangeKind::Changed => "M",
        FileChangeKind::Deleted => "D",
    };
    // A line end in a name must not look like a line of the summary.
    let path = file
        .path
        .to_string_lossy()
        .replace(|letter: char| letter.is_control(), "\u{FFFD}");
    format!(" {mark} {path} | +{} -{}", file.added, file.removed)
}

fn as_text<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&path.to_string_lossy())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_has_a_line_per_file_and_a_sum() {
        let file = |path: &str, action, added, removed| ChangedFile {
            path: path.into(),
            action,
            added,
            removed,
        };
        let files = vec![
            file("b\nc", FileChangeKind::Deleted, 0, 4),
            file("a.rs", FileChangeKind::Changed, 3, 1),
        ];
        let changes = WorkspaceChanges::new(files, None);
        assert_eq!(
            changes.diffstat,
            " M a.rs | +3 -1\n D b\u{FFFD}c | +0 -4\n 2 files changed, 3 insertions(+), 5 deletions(-)"
        );
        assert_eq!(WorkspaceChanges::new(Vec::new(), None).diffstat, "");
    }
}

//! Parses git's raw diff of two trees.

use std::{
    ffi::OsStr,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use rooftree_protocol::Problem;

use super::{
    change::{ChangedFile, FileChangeKind},
    git::GitCommand,
};

/// The mode of another repository inside of this one.
const REPOSITORY: &str = "160000";

/// A file as a tree has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TreeFile {
    pub mode: String,
    pub object: String,
}

impl TreeFile {
    /// Whether this is no file but another repository.
    pub fn is_repository(&self) -> bool {
        self.mode == REPOSITORY
    }
}

/// A path at which two trees differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TreeDifference {
    pub path: PathBuf,
    pub before: Option<TreeFile>,
    pub after: Option<TreeFile>,
    pub added: u64,
    pub removed: u64,
}

impl TreeDifference {
    /// Whether one side is another repository, whose files are none of ours.
    pub fn is_repository(&self) -> bool {
        [&self.before, &self.after]
            .into_iter()
            .flatten()
            .any(TreeFile::is_repository)
    }

    pub fn changed_file(&self) -> ChangedFile {
        let action = match (&self.before, &self.after) {
            (None, _) => FileChangeKind::Added,
            (_, None) => FileChangeKind::Deleted,
            _ => FileChangeKind::Changed,
        };
        ChangedFile {
            path: self.path.clone(),
            action,
            added: self.added,
            removed: self.removed,
        }
    }
}

/// How `after` differs from `before`, both trees or commits.
pub(super) async fn between(
    directory: &Path,
    before: &str,
    after: &str,
) -> Result<Vec<TreeDifference>, Problem> {
    let how = [
        "diff-tree",
        "-r",
        "-z",
        "--raw",
        "--numstat",
        "--no-abbrev",
        "--no-renames",
        "--no-ext-diff",
    ];
    let output = GitCommand::at(directory)
        .args(how)
        .args([before, after])
        .succeed()
        .await?;
    Ok(parse(&output))
}

/// First come all paths with their versions, then all paths with their lines, in the same order.
fn parse(output: &[u8]) -> Vec<TreeDifference> {
    let mut differences = Vec::new();
    let mut counts = Vec::new();
    let mut pieces = output
        .split(|byte| *byte == 0)
        .filter(|piece| !piece.is_empty());
    while let Some(piece) = pieces.next() {
        match piece.strip_prefix(b":") {
            Some(versions) => {
                differences.extend(pieces.next().and_then(|path| difference(versions, path)))
            }
            None => counts.push(lines(piece)),
        }
    }
    for (difference, (added, removed)) in differences.iter_mut().zip(counts) {
        (difference.added, difference.removed) = (added, removed);
    }
    differences
}

fn difference(versions: &[u8], path: &[u8]) -> Option<TreeDifference> {
    let text = std::str::from_utf8(versions).ok()?;
    let fields: Vec<&str> = text.split(' ').collect();
    let [mode_before, mode_after, before, after, _] = fields.as_slice() else {
        return None;
    };
    Some(TreeDifference {
        path: OsStr::from_bytes(path).into(),
        before: version(mode_before, before),
        after: version(mode_after, after),
        added: 0,
        removed: 0,
    })
}

pub(super) fn version(mode: &str, object: &str) -> Option<TreeFile> {
    (mode != "000000").then(|| TreeFile {
        mode: mode.to_owned(),
        object: object.to_owned(),
    })
}

/// Lines that came and went; git writes dashes for what is not text.
fn lines(piece: &[u8]) -> (u64, u64) {
    let mut numbers = piece.splitn(3, |byte| *byte == b'\t').map(|number| {
        std::str::from_utf8(number)
            .ok()
            .and_then(|number| number.parse().ok())
            .unwrap_or(0)
    });
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_with_tabs_and_line_ends_and_binary_files_are_read() {
        let output = b":100644 100755 aa bb M\0a\tb\nc\0:000000 120000 00 cc A\0link\0\
            :160000 000000 dd 00 D\0sub\x001\t2\ta\tb\nc\0-\t-\tlink\x000\t1\tsub\0";
        let found = parse(output);
        let [changed, added, deleted] = found.as_slice() else {
            panic!("{found:?}")
        };
        assert_eq!(
            (changed.path.as_path(), changed.added, changed.removed),
            (Path::new("a\tb\nc"), 1, 2)
        );
        assert_eq!(changed.after, version("100755", "bb"));
        assert_eq!(
            (added.changed_file().action, added.added),
            (FileChangeKind::Added, 0)
        );
        assert!(
            deleted.is_repository() && deleted.changed_file().action == FileChangeKind::Deleted
        );
    }
}

//! Replaces files in the parent's tree: each atomically, all of them or none (rollback).
//!
//! A file that is no longer as it was when the new version was made stops the landing, and
//! everything landed before it is taken back. What someone changed meanwhile is never replaced.

use std::{
    fs, io,
    os::unix::fs::{MetadataExt, PermissionsExt, symlink},
    path::{Path, PathBuf},
};

/// File metadata at a moment: if it is equal later, no process has written to the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileSnapshot {
    device: u64,
    file: u64,
    length: u64,
    modified: (i64, i64),
    mode: u32,
}

impl FileSnapshot {
    /// The file at this path; none if there is none. Links are not followed.
    pub fn of(path: &Path) -> Option<Self> {
        let found = fs::symlink_metadata(path).ok()?;
        Some(Self {
            device: found.dev(),
            file: found.ino(),
            length: found.len(),
            modified: (found.mtime(), found.mtime_nsec()),
            mode: found.mode(),
        })
    }

    pub fn is_directory(&self) -> bool {
        self.mode & 0o170_000 == 0o040_000
    }

    fn is_regular(&self) -> bool {
        self.mode & 0o170_000 == 0o100_000
    }
}

/// One file that is to be replaced, made or deleted.
#[derive(Clone, Debug)]
pub(super) struct FileReplacement {
    /// Relative to the root.
    pub path: PathBuf,
    /// How it was when the new version was made.
    pub seen: Option<FileSnapshot>,
    /// Where the new version lies; none: it is to be deleted.
    pub new: Option<PathBuf>,
}

/// Why a landing did not happen.
#[derive(Debug)]
pub(super) enum ReplaceError {
    /// This file is not as it was.
    Moved(PathBuf),
    /// The system did not do it.
    Failed(PathBuf, io::Error),
}

/// Lands all steps, or none. Old versions are kept in `aside` until then.
pub(super) fn replace_all(
    root: &Path,
    steps: &[FileReplacement],
    aside: &Path,
) -> Result<(), ReplaceError> {
    let mut landed: Vec<ReplacedFile> = Vec::new();
    // Deletions come first: a file may take the place of a directory that becomes empty.
    let (gone, written): (Vec<&FileReplacement>, Vec<&FileReplacement>) =
        steps.iter().partition(|step| step.new.is_none());
    for (number, step) in gone.into_iter().chain(written).enumerate() {
        match one(root, step, &aside.join(format!("old-{number}"))) {
            Ok(done) => landed.push(done),
            Err(stopped) => {
                landed.iter().rev().for_each(ReplacedFile::take_back);
                return Err(stopped);
            }
        }
    }
    Ok(())
}

/// A step that was made, and the way back.
struct ReplacedFile {
    target: PathBuf,
    new: Option<FileSnapshot>,
    old: Option<PathBuf>,
}

impl ReplacedFile {
    /// Puts the old version back, unless someone has changed the new one since.
    fn take_back(&self) {
        if FileSnapshot::of(&self.target) != self.new {
            return;
        }
        // An error cannot be reported here; the old version then stays in its snapshot.
        let _ = match (&self.old, &self.new) {
            (Some(old), Some(_)) => replace(old, &self.target),
            (Some(old), None) => {
                make_parents(&self.target).and_then(|()| replace(old, &self.target))
            }
            (None, _) => fs::remove_file(&self.target),
        };
    }
}

fn one(root: &Path, step: &FileReplacement, old: &Path) -> Result<ReplacedFile, ReplaceError> {
    let target = root.join(&step.path);
    let failed = |error| ReplaceError::Failed(step.path.clone(), error);
    let moved = || ReplaceError::Moved(step.path.clone());
    if !has_real_parents(root, &step.path) || step.seen.is_some_and(|seen| seen.is_directory()) {
        return Err(moved());
    }
    if step.seen.is_some() {
        keep(&target, old).map_err(failed)?;
    }
    if let (Some(new), Some(seen)) = (&step.new, step.seen) {
        keep_mode(new, seen).map_err(failed)?;
    }
    // As late as possible: a write after this check is not detected, but that window is microseconds.
    if FileSnapshot::of(&target) != step.seen {
        return Err(moved());
    }
    match &step.new {
        None if step.seen.is_some() => {
            fs::remove_file(&target).map_err(failed)?;
            remove_empty_parents(root, &target);
        }
        None => {}
        Some(new) if step.seen.is_some() => replace(new, &target).map_err(failed)?,
        Some(new) => create(new, &target).map_err(|error| {
            if error.kind() == io::ErrorKind::AlreadyExists {
                moved()
            } else {
                failed(error)
            }
        })?,
    }
    let new = FileSnapshot::of(&target);
    Ok(ReplacedFile {
        target,
        new,
        old: step.seen.map(|_| old.to_owned()),
    })
}

/// Whether everything above the file is a directory of its own or not there yet: a link would lead astray.
fn has_real_parents(root: &Path, path: &Path) -> bool {
    let above = path
        .ancestors()
        .skip(1)
        .filter(|above| !above.as_os_str().is_empty());
    above
        .filter_map(|above| FileSnapshot::of(&root.join(above)))
        .all(|found| found.is_directory())
}

/// A second name for the old version; where the disk knows no such thing, a copy.
fn keep(target: &Path, old: &Path) -> io::Result<()> {
    if fs::hard_link(target, old).is_ok() {
        return Ok(());
    }
    duplicate(target, old)
}

fn duplicate(from: &Path, to: &Path) -> io::Result<()> {
    if fs::symlink_metadata(from)?.is_symlink() {
        return symlink(fs::read_link(from)?, to);
    }
    fs::copy(from, to).map(|_| ())
}

/// The new version keeps who may read and write the old one; who may run it comes with the new one.
fn keep_mode(new: &Path, seen: FileSnapshot) -> io::Result<()> {
    let found = fs::symlink_metadata(new)?;
    if !found.is_file() || !seen.is_regular() {
        return Ok(());
    }
    let readable = seen.mode & 0o666;
    let runnable = if found.mode() & 0o111 == 0 {
        0
    } else {
        (readable & 0o444) >> 2
    };
    fs::set_permissions(new, fs::Permissions::from_mode(readable | runnable))
}

fn replace(new: &Path, target: &Path) -> io::Result<()> {
    match fs::rename(new, target) {
        Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
            let near = beside(target);
            duplicate(new, &near)
                .and_then(|()| fs::rename(&near, target))
                .inspect_err(|_| {
                    let _ = fs::remove_file(&near);
                })
        }
        done => done,
    }
}

/// A link never replaces what someone else made first.
fn create(new: &Path, target: &Path) -> io::Result<()> {
    make_parents(target)?;
    match fs::hard_link(new, target) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => replace(new, target),
        done => done,
    }
}

fn make_parents(target: &Path) -> io::Result<()> {
    target.parent().map_or(Ok(()), fs::create_dir_all)
}

fn remove_empty_parents(root: &Path, target: &Path) {
    let above = target
        .ancestors()
        .skip(1)
        .take_while(|above| *above != root);
    // A directory that is not empty refuses, and then those above it are not empty either.
    let _ = above.map(fs::remove_dir).find(Result::is_err);
}

fn beside(target: &Path) -> PathBuf {
    let mut name = target.file_name().unwrap_or_default().to_owned();
    name.push(".rooftree-new");
    target.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three files in a tree, and new versions of them: the first deleted, the second changed, the last new.
    fn prepared(directory: &Path) -> (PathBuf, PathBuf, Vec<FileReplacement>) {
        let (root, aside) = (directory.join("root"), directory.join("aside"));
        fs::create_dir_all(root.join("deep")).unwrap();
        fs::create_dir_all(&aside).unwrap();
        fs::write(root.join("deep/gone"), "old").unwrap();
        fs::write(root.join("changed"), "old").unwrap();
        let step = |path: &str, new: Option<&str>| {
            let new = new.map(|text| {
                let at = aside.join(format!("new-{}", path.replace('/', "-")));
                fs::write(&at, text).unwrap();
                at
            });
            FileReplacement {
                path: path.into(),
                seen: FileSnapshot::of(&root.join(path)),
                new,
            }
        };
        let steps = vec![
            step("changed", Some("new")),
            step("made/new", Some("new")),
            step("deep/gone", None),
        ];
        (root, aside, steps)
    }

    fn text(root: &Path, path: &str) -> Option<String> {
        fs::read_to_string(root.join(path)).ok()
    }

    #[test]
    fn all_steps_land() {
        let directory = tempfile::tempdir().unwrap();
        let (root, aside, steps) = prepared(directory.path());
        replace_all(&root, &steps, &aside).unwrap();
        assert_eq!(
            (text(&root, "changed"), text(&root, "made/new")),
            (Some("new".into()), Some("new".into()))
        );
        assert!(
            !root.join("deep").exists(),
            "an empty directory goes with its last file"
        );
    }

    #[test]
    fn a_file_that_someone_changed_meanwhile_stays_and_takes_everything_back() {
        let meddle: [(&str, &str); 2] = [("changed", "theirs"), ("made/new", "theirs")];
        for (path, theirs) in meddle {
            let directory = tempfile::tempdir().unwrap();
            let (root, aside, steps) = prepared(directory.path());
            fs::create_dir_all(root.join("made")).unwrap();
            fs::write(root.join(path), theirs).unwrap();
            assert!(
                matches!(replace_all(&root, &steps, &aside), Err(ReplaceError::Moved(moved)) if moved == Path::new(path))
            );
            assert_eq!(text(&root, path).as_deref(), Some(theirs));
            assert_eq!(text(&root, "deep/gone").as_deref(), Some("old"));
            let changed = if path == "changed" { theirs } else { "old" };
            assert_eq!(text(&root, "changed").as_deref(), Some(changed));
        }
    }

    #[test]
    fn a_link_in_the_way_is_not_followed() {
        let directory = tempfile::tempdir().unwrap();
        let (root, aside, steps) = prepared(directory.path());
        let outside = directory.path().join("outside");
        fs::create_dir(&outside).unwrap();
        symlink(&outside, root.join("made")).unwrap();
        assert!(matches!(
            replace_all(&root, &steps, &aside),
            Err(ReplaceError::Moved(_))
        ));
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
    }
}

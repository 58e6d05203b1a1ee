//! Resolves the links of a path, and describes in words what is there.

use std::{
    ffi::OsStr,
    fs::{self, FileType},
    ops::Range,
    os::unix::{ffi::OsStrExt, fs::FileTypeExt},
    path::{Component, Path, PathBuf},
};

/// No system call takes a longer path, so there is nothing to follow in one.
const PATH_BYTES: usize = 4096;

/// Longer chains of links are circles; the kernel draws the line there too.
const LINKS: usize = 40;

/// Where the links of a path led at one moment.
///
/// Invariant: links are followed once per call. The policy judges `real`, and `real` is what is opened,
/// without following any link again: if another process changes a link in between, the call can only fail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolvedPath {
    /// The path as it was asked for: absolute, without `.` and `..`.
    pub written: PathBuf,
    /// The same behind all links.
    pub real: PathBuf,
    /// The directory that relative paths start in, behind all links.
    pub home: PathBuf,
}

/// What is done with a link that is the last part of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LastLink {
    /// What it leads to is meant.
    Followed,
    /// The link itself is meant: it is to be deleted.
    Kept,
}

impl ResolvedPath {
    /// Follows the links of a path, whatever it is: nothing that can be written makes it fail.
    pub fn of(path: &Path, cwd: &Path, last: LastLink) -> Self {
        let written = normalize_lexically(&cwd.join(path));
        let found = match last {
            LastLink::Followed => real_path(&written),
            LastLink::Kept => unlinked(&written),
        };
        Self {
            real: found,
            home: real_path(cwd),
            written,
        }
    }

    /// The same for a name that need not be text: what a fuzzer begins with.
    pub fn of_bytes(path: &[u8], cwd: &Path, last: LastLink) -> Self {
        Self::of(Path::new(OsStr::from_bytes(path)), cwd, last)
    }

    /// Whether no system call takes it, so that there is nothing to judge.
    pub fn is_too_long(&self) -> bool {
        self.written
            .as_os_str()
            .len()
            .max(self.real.as_os_str().len())
            > PATH_BYTES
    }
}

/// The name a file has when links are followed, so that every way to it is the same file.
/// Works for files that do not exist yet, also behind a link or in directories still to be made.
pub(crate) fn real_path(path: &Path) -> PathBuf {
    let mut path = path.to_owned();
    let mut links = 0..LINKS;
    loop {
        path = followed(path, &mut links);
        if !path.components().any(|part| part == Component::ParentDir) {
            return path;
        }
        // The target of a link may lead up from a directory that is not there, and then on through other links.
        path = normalize_lexically(&path);
        if links.is_empty() {
            return path;
        }
    }
}

fn followed(mut path: PathBuf, links: &mut Range<usize>) -> PathBuf {
    // What is not there yet, from the last part to the first.
    let mut missing = Vec::new();
    while path.as_os_str().len() <= PATH_BYTES {
        if let Ok(found) = fs::canonicalize(&path) {
            path = found;
            break;
        }
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            break;
        };
        match fs::read_link(&path) {
            // It leads to nothing yet.
            Ok(target) if links.next().is_some() => path = parent.join(target),
            _ => {
                missing.push(name.to_owned());
                path = parent.to_owned();
            }
        }
    }
    path.extend(missing.iter().rev());
    path
}

/// The same without following a link that is itself the last part: what would be deleted.
fn unlinked(path: &Path) -> PathBuf {
    match (path.parent().map(real_path), path.file_name()) {
        (Some(parent), Some(name)) => parent.join(name),
        _ => path.to_owned(),
    }
}

/// Refuses what is not a regular file.
pub(crate) fn check_regular_file(kind: FileType, shown: &str) -> Result<(), String> {
    if kind.is_file() {
        return Ok(());
    }
    if kind.is_dir() {
        return Err(format!(
            "{shown} is a directory, not a file. List shows what is in it."
        ));
    }
    let what = if kind.is_fifo() {
        "a FIFO"
    } else if kind.is_socket() {
        "a socket"
    } else if kind.is_symlink() {
        "a link"
    } else {
        "a device"
    };
    Err(format!("{shown} is {what}, not a regular file."))
}

/// A size as people say it.
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [(&str, u64); 3] = [("GB", 1_000_000_000), ("MB", 1_000_000), ("kB", 1000)];
    match UNITS.into_iter().find(|(_, unit)| bytes >= *unit) {
        Some((name, unit)) => format!("{}.{} {name}", bytes / unit, (bytes % unit) * 10 / unit),
        None => format!("{bytes} bytes"),
    }
}

/// Escapes a file name to one line: a line break in a name cannot make one file look like two.
pub(crate) fn one_line(name: &str) -> String {
    if !name.chars().any(is_unseen) {
        return name.to_owned();
    }
    let escaped = name.chars().map(|c| {
        if is_unseen(c) {
            c.escape_default().to_string()
        } else {
            c.into()
        }
    });
    escaped.collect()
}

/// Characters that move the cursor, or turn the direction of what follows.
fn is_unseen(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// A path without `.` and `..`, as written: links are not followed.
pub(crate) fn normalize_lexically(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            other => plain.push(other),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_of_a_megabyte_is_pinned_at_once() {
        let long = "a/".repeat(500_000);
        let pinned = ResolvedPath::of(Path::new(&long), Path::new("/"), LastLink::Followed);
        assert_eq!(pinned.real, pinned.written);
    }

    #[test]
    fn a_dangling_link_is_pinned_to_what_it_would_make() {
        let root = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(root.path()).unwrap();
        let link =
            |name: &str, target: &str| std::os::unix::fs::symlink(target, root.join(name)).unwrap();
        link("plain", "later");
        link("chain", "plain");
        link("up", "gone/../later");
        link("out", "../elsewhere/x");
        link("circle", "circle");
        link("round", "gone/../round");
        fs::create_dir_all(root.join("a")).unwrap();
        link("to-a", "a");
        link("a/back", "..");
        link("a/up", "../gone/../to-a/later");
        let table = [
            ("plain", "later"),
            ("chain", "later"),
            ("up", "later"),
            ("circle", "circle"),
            ("round", "round"),
            ("to-a/back/a/up", "a/later"),
            ("a/b/c", "a/b/c"),
        ];
        for (written, real) in table {
            let pinned = ResolvedPath::of(Path::new(written), &root, LastLink::Followed);
            assert_eq!(pinned.real, root.join(real), "{written}");
        }
        let pinned = ResolvedPath::of(Path::new("out"), &root, LastLink::Followed);
        assert_eq!(pinned.real, root.parent().unwrap().join("elsewhere/x"));
        let kept = ResolvedPath::of(Path::new("out"), &root, LastLink::Kept);
        assert_eq!(kept.real, root.join("out"));
    }

    #[test]
    fn names_stay_on_their_line() {
        assert_eq!(
            one_line("a\nb\u{1b}[2J\u{202e}c"),
            "a\\nb\\u{1b}[2J\\u{202e}c"
        );
        assert_eq!(one_line("ä b.txt"), "ä b.txt");
    }
}

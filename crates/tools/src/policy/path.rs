//! Compares paths with the globs of rules, without touching the disk.
//!
//! Both sides are made absolute and freed of `.` and `..` first, so that
//! `src/../../etc/passwd` is not below `src`.

use std::path::Path;

use globset::{GlobBuilder, escape};

use crate::lexical::lexical;

/// Whether a path is one a rule's glob names.
pub(super) fn is_matched_by(subject: &str, rule: &str, cwd: &Path) -> bool {
    // Whose home is meant is not known here: such a rule denies, and never allows.
    !rule.starts_with('~') && matches(&lexical(&cwd.join(subject)), &absolute_glob(rule, cwd))
}

/// Whether a path seen from one directory, or a directory above it, is one that a rule's glob names from
/// another. A `*` in the path may stand for anything.
pub(super) fn is_at_or_below(subject: &str, rule: &str, from: &Path, cwd: &Path) -> bool {
    let glob = absolute_glob(rule, cwd);
    let path = lexical(&from.join(subject));
    // A directory whose whole content is denied is denied itself: searching it is reading it.
    let inside = glob.strip_suffix("/**").unwrap_or(&glob);
    path.ancestors().any(|path| matches(path, &glob) || matches(path, inside))
        || (subject.contains('*') && matches(Path::new(&glob), &path.to_string_lossy()))
}

/// Whether a path is a directory or below it.
pub(super) fn is_below(subject: &str, directory: &Path) -> bool {
    lexical(&directory.join(subject)).starts_with(lexical(directory))
}

/// A glob that names exactly this path: relative if it is below `cwd`.
pub(super) fn literal(subject: &str, cwd: &Path) -> String {
    let path = lexical(&cwd.join(subject));
    let shown = path.strip_prefix(lexical(cwd)).unwrap_or(&path);
    if shown.as_os_str().is_empty() { ".".to_owned() } else { escape(&shown.to_string_lossy()) }
}

/// The longest part of a glob that is a name as it stands.
pub(super) fn telling_part(glob: &str) -> Option<&str> {
    let parts = glob.split(['/', '*', '?', '[', ']', '{', '}', ',', '~']);
    parts.filter(|part| !matches!(*part, "" | "." | "..")).max_by_key(|part| part.len())
}

/// In whoever's home directory: there is none to ask for here.
fn absolute_glob(rule: &str, cwd: &Path) -> String {
    let full = match rule.strip_prefix("~/") {
        Some(rest) => format!("/**/{rest}"),
        None if rule.starts_with('/') => rule.to_owned(),
        None => format!("{}/{rule}", escape(&cwd.to_string_lossy())),
    };
    lexical(Path::new(&full)).to_string_lossy().into_owned()
}

/// A glob that cannot be read matches nothing but itself.
fn matches(path: &Path, glob: &str) -> bool {
    match GlobBuilder::new(glob).literal_separator(true).build() {
        Ok(glob) => glob.compile_matcher().is_match(path),
        Err(_) => path == Path::new(glob),
    }
}

//! Compares paths with the globs of rules, without touching the disk.
//!
//! Both sides are made absolute and freed of `.` and `..` first, so that
//! `src/../../etc/passwd` is not below `src`.

use std::path::Path;

use globset::{GlobBuilder, escape};

use crate::lexical::lexical;

/// Whether a path is one a rule's glob names.
pub(super) fn is_matched_by(subject: &str, rule: &str, cwd: &Path) -> bool {
    matches(&lexical(&cwd.join(subject)), &absolute_glob(rule, cwd))
}

/// Whether a path, or a directory above it, is one a rule's glob names.
pub(super) fn is_at_or_below(subject: &str, rule: &str, cwd: &Path) -> bool {
    let glob = absolute_glob(rule, cwd);
    lexical(&cwd.join(subject)).ancestors().any(|path| matches(path, &glob))
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

pub(super) fn absolute_glob(rule: &str, cwd: &Path) -> String {
    let full = if rule.starts_with('/') {
        rule.to_owned()
    } else {
        format!("{}/{rule}", escape(&cwd.to_string_lossy()))
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

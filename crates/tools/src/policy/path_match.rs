//! Matches paths against the globs of rules, without disk access except for links in rules that name private places.
//!
//! Both sides are made absolute and freed of `.` and `..` first, so that
//! `src/../../etc/passwd` is not below `src`.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use globset::{GlobMatcher, escape};

use crate::{
    glob_cache::{WildcardMeaning, compiled_glob},
    resolved_path::normalize_lexically,
    resolved_path::real_path,
};

/// Characters that mean something in a glob.
const MEANING: [char; 8] = ['*', '?', '[', ']', '{', '}', '\\', '!'];

/// The paths that a rule names, seen from a directory. Made once and compared often.
pub(super) struct RulePaths {
    glob: String,
    named: PathPattern,
    /// What is above everything named: a directory whose whole content is denied is denied itself.
    held: Option<PathPattern>,
}

/// Most rules are plain paths, which need no compiling.
enum PathPattern {
    Plain(PathBuf),
    Glob(Arc<GlobMatcher>),
}

impl RulePaths {
    pub fn of(rule: &str, cwd: &Path) -> Self {
        let glob = absolute_glob(rule, cwd);
        let held = glob.strip_suffix("/**").map(PathPattern::of);
        Self {
            named: PathPattern::of(&glob),
            held,
            glob,
        }
    }

    /// Whether a path, or a directory above it, is named. A `*` in the path may stand for anything.
    pub fn may_hold(&self, subject: &str, from: &Path) -> bool {
        let path = normalize_lexically(&from.join(subject));
        let is_named = |path: &Path| {
            self.named.is(path) || self.held.as_ref().is_some_and(|held| held.is(path))
        };
        path.ancestors().any(is_named)
            || (subject.contains('*')
                && PathPattern::of(&path.to_string_lossy()).is(Path::new(&self.glob)))
    }
}

impl PathPattern {
    /// A glob that cannot be read matches nothing but itself.
    fn of(glob: &str) -> Self {
        let plain = || Self::Plain(PathBuf::from(glob));
        if !glob.contains(MEANING) {
            return plain();
        }
        compiled_glob(glob, WildcardMeaning::WithinPart).map_or_else(plain, Self::Glob)
    }

    fn is(&self, path: &Path) -> bool {
        match self {
            Self::Plain(plain) => plain == path,
            Self::Glob(glob) => glob.is_match(path),
        }
    }
}

/// Whether a path is one a rule's glob names.
pub(super) fn is_matched_by(subject: &str, rule: &str, cwd: &Path) -> bool {
    // Whose home is meant is not known here: such a rule denies, and never allows.
    !rule.starts_with('~')
        && PathPattern::of(&absolute_glob(rule, cwd)).is(&normalize_lexically(&cwd.join(subject)))
}

/// Whether a path is a directory or below it.
pub(super) fn is_below(subject: &str, directory: &Path) -> bool {
    normalize_lexically(&directory.join(subject)).starts_with(normalize_lexically(directory))
}

/// Whether the part of a rule's glob that has no wildcard leads to a place or into it, links followed.
pub(super) fn begins_in(rule: &str, cwd: &Path, place: &Path) -> bool {
    let glob = absolute_glob(rule, cwd);
    let is_plain = |part: &&str| !part.contains(MEANING);
    let fixed: PathBuf = ["/"]
        .into_iter()
        .chain(glob.split('/').take_while(is_plain))
        .collect();
    real_path(&fixed).starts_with(place)
}

/// A glob that names exactly this path: relative if it is below `cwd`.
pub(super) fn literal(subject: &str, cwd: &Path) -> String {
    let path = normalize_lexically(&cwd.join(subject));
    let shown = path.strip_prefix(normalize_lexically(cwd)).unwrap_or(&path);
    if shown.as_os_str().is_empty() {
        ".".to_owned()
    } else {
        escape(&shown.to_string_lossy())
    }
}

/// The longest part of a glob that is a name as it stands.
pub(super) fn longest_literal(glob: &str) -> Option<&str> {
    let parts = glob.split(['/', '*', '?', '[', ']', '{', '}', ',', '~']);
    parts
        .filter(|part| !matches!(*part, "" | "." | ".."))
        .max_by_key(|part| part.len())
}

/// A rule as an absolute glob. `~/` matches below any directory, because the home directory is not known here.
pub(super) fn absolute_glob(rule: &str, cwd: &Path) -> String {
    let full = match rule.strip_prefix("~/") {
        Some(rest) => format!("/**/{rest}"),
        None if rule.starts_with('/') => rule.to_owned(),
        None => format!("{}/{rule}", escape(&cwd.to_string_lossy())),
    };
    normalize_lexically(Path::new(&full))
        .to_string_lossy()
        .into_owned()
}

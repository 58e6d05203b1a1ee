//! Paths that no mode alone allows: private places, and whatever lies outside of a working copy or of the only
//! directory an agent may read.

use std::path::{Path, PathBuf};

use super::{PermissionRule, PolicyVerdict};
use crate::file_scope::{CopyEscape, FileAccess, FileScope};

/// What a call does with one path.
pub(super) struct PathUse<'a> {
    pub path: &'a Path,
    pub is_change: bool,
}

/// Why the mode does not decide.
pub(super) enum ScopeViolation {
    /// It is in this private place.
    Private(PathBuf),
    /// The agent may touch nothing outside its directory.
    NotHere,
    /// It would change the tree that the session works in a copy of; this is the same path in the copy.
    Original(PathBuf),
    /// It reads the tree that the session works in a copy of.
    OriginalRead(PathBuf),
    /// It would change something outside of the session's working copy.
    OutsideCopy,
}

impl ScopeViolation {
    pub fn of(scope: &FileScope, access: &FileAccess, touch: PathUse<'_>) -> Option<Self> {
        match (access, scope.escape(touch.path)) {
            (FileAccess::Free, _) if !touch.is_change => None,
            (FileAccess::Outside | FileAccess::Private(_), _) if scope.is_only_here() => {
                Some(Self::NotHere)
            }
            (FileAccess::Private(place), _) => Some(Self::Private(place.clone())),
            (_, Some(CopyEscape::Original(here))) if touch.is_change => Some(Self::Original(here)),
            (_, Some(CopyEscape::Original(here))) => Some(Self::OriginalRead(here)),
            (_, Some(CopyEscape::Elsewhere)) if touch.is_change => Some(Self::OutsideCopy),
            _ => None,
        }
    }

    /// What is said; the rule is the one that would allow it.
    pub fn verdict(&self, rule: &PermissionRule) -> PolicyVerdict {
        let rule = rule.to_string().replace('\'', r"'\''");
        match self {
            Self::Private(place) => PolicyVerdict::Ask(format!(
                "it is in {}, a private place; no mode and no wildcard allows that; --allow '{rule}' would allow it",
                place.display()
            )),
            Self::NotHere => PolicyVerdict::Deny(
                "this agent is exposed over HTTP and touches its working directory and nothing else"
                    .to_owned(),
            ),
            Self::Original(here) => PolicyVerdict::Deny(format!(
                "you work in a copy, and this path is in the original; in your copy it is {}",
                here.display()
            )),
            Self::OriginalRead(here) => PolicyVerdict::Ask(format!(
                "this session works in a copy, and this path is in the original; in the copy it is {}; --allow \
                 '{rule}' would allow it",
                here.display()
            )),
            Self::OutsideCopy => PolicyVerdict::Ask(format!(
                "this session works in a copy and this path is outside of it; --allow '{rule}' would allow it"
            )),
        }
    }
}

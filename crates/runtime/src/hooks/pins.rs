//! Pins the content of files that hooks name, as first seen, which is before any agent works.
//!
//! Invariant: a hook's program is not started unless what its command names is as it was then. So an
//! agent that may edit files does not get to run them as the person.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    io,
    path::PathBuf,
    sync::{Mutex, PoisonError},
};

use rooftree_tools::fingerprint::{ABSENT, fingerprint};

use super::{HookError, HookScript};

/// Files that are remembered. Those of more directories are compared by their names alone.
const MOST: usize = 10_000;
/// Marker for a file whose content could not be read: it never compares equal.
const UNTOLD: &str = "untold";

/// Pinned fingerprints of files, as first seen.
#[derive(Default)]
pub struct ScriptPins(Mutex<PinnedFiles>);

#[derive(Default)]
struct PinnedFiles {
    files: BTreeMap<PathBuf, String>,
    /// The same by how commands write their names, for copies of a project in other places.
    names: HashMap<String, HashSet<String>>,
}

impl ScriptPins {
    /// Looks at what hooks name. What was seen before stays as it was then.
    pub fn see(&self, found: impl IntoIterator<Item = HookScript>) {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for script in found {
            if !seen.files.contains_key(&script.path) && seen.files.len() < MOST {
                let Some(word) = script.word() else { continue };
                seen.files
                    .insert(script.path.clone(), word.unwrap_or_else(|_| UNTOLD.into()));
            }
            if let Some(word) = seen.files.get(&script.path).cloned() {
                seen.names.entry(script.name).or_default().insert(word);
            }
        }
    }

    /// Whether what a hook names is as it was; else which file is not.
    pub(super) fn check(&self, found: Vec<HookScript>) -> Result<(), HookError> {
        for script in found {
            let (known, words) = {
                let seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
                let words = seen.names.get(&script.name).cloned().unwrap_or_default();
                (seen.files.get(&script.path).cloned(), words)
            };
            let is_good = match (known, script.word()) {
                // It was absent when first named, and is still absent: there is nothing to run.
                (None, None) => true,
                (_, Some(Err(_))) => false,
                (Some(known), word) => {
                    word.and_then(Result::ok).as_deref().unwrap_or(ABSENT) == known
                }
                // A copy elsewhere is as good as what it was copied from.
                (None, Some(Ok(word))) if words.contains(&word) => true,
                (None, Some(Ok(word))) => word == ABSENT || (!script.is_run && words.is_empty()),
            };
            if !is_good {
                return Err(HookError::Changed(script.path));
            }
        }
        Ok(())
    }

    /// The files that are remembered and exist.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        let seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        seen.files
            .iter()
            .filter(|(_, word)| *word != ABSENT)
            .map(|(path, _)| path.clone())
            .collect()
    }
}

impl HookScript {
    /// Fingerprint of the file; none if it does not count in its current state.
    pub fn word(&self) -> Option<io::Result<String>> {
        let is_directory = self.path.is_dir();
        if is_directory != self.is_directory && (is_directory || !self.is_run) {
            return None;
        }
        let word = fingerprint(&self.path);
        let is_absent = word.as_ref().is_ok_and(|word| word == ABSENT);
        (self.is_run || !is_absent).then_some(word)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::hooks::{ConfiguredHook, HookPoint, HookProgram};

    #[test]
    fn a_copy_of_a_project_is_as_good_as_what_was_seen_and_no_better() {
        let (project, copy) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(project.path().join("check.sh"), "good").unwrap();
        let hook = ConfiguredHook::program(
            HookPoint::Stop,
            HookProgram::shell("./check.sh; [ ! -e more.sh ] || sh more.sh"),
        );
        let pins = ScriptPins::default();
        pins.see(hook.scripts(project.path(), project.path()));
        let check = || pins.check(hook.scripts(project.path(), copy.path()));
        assert_eq!(check(), Ok(()), "what is not there is not run");
        fs::write(copy.path().join("check.sh"), "good").unwrap();
        assert_eq!(check(), Ok(()));
        fs::write(copy.path().join("check.sh"), "evil").unwrap();
        assert_eq!(
            check(),
            Err(HookError::Changed(copy.path().join("check.sh")))
        );
        fs::write(copy.path().join("check.sh"), "good").unwrap();
        fs::write(copy.path().join("more.sh"), "evil").unwrap();
        assert_eq!(
            check(),
            Err(HookError::Changed(copy.path().join("more.sh")))
        );
        // Looking again later does not make it good.
        fs::write(project.path().join("check.sh"), "evil").unwrap();
        pins.see(hook.scripts(project.path(), project.path()));
        let there = pins.check(hook.scripts(project.path(), project.path()));
        assert_eq!(
            there,
            Err(HookError::Changed(project.path().join("check.sh")))
        );
    }
}

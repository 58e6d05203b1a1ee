//! Keeps a confined program from leaving something that the user's next git command would run.
//!
//! What can be made read-only is (`repository.rs`). The rest has to stay writable, because git writes
//! beside it, or does not exist yet: repositories inside the working directory, the todo list of a rebase,
//! old-style remotes, and with Landlock hooks and settings too. So the files that decide what git
//! runs are read before the program starts and again when it has ended. What has changed and would run
//! something is moved to quarantine, what was there before is put back, and the caller is told.

mod change_check;
mod guarded_files;
mod index;
mod quarantine;

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use super::{Sandbox, SandboxBackend};
use change_check::{FileRepair, repair_for};
use guarded_files::{GitSearchPaths, GuardedFiles};
use quarantine::FileQuarantine;

/// At most so many findings are told one by one.
const TOLD: usize = 12;

/// Which repositories are compared before and after a program. Nothing in it: none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GitGuard {
    /// Directories in and below which repositories are looked for.
    pub workspaces: Vec<PathBuf>,
    /// Directories of repositories (`.git`) that are writable.
    pub directories: Vec<PathBuf>,
    /// Paths whose repositories the user lets programs change as they like.
    pub allowed: Vec<PathBuf>,
    /// Where what is taken away is kept; none: beside where it was.
    pub quarantine: Option<PathBuf>,
}

/// What decided what git runs before a program was started.
#[derive(Debug)]
pub(crate) struct GitSnapshot {
    places: GitSearchPaths,
    /// What the program could not change: if it has changed, that was the user.
    fixed: Vec<PathBuf>,
    quarantine: Option<PathBuf>,
    look: GuardedFiles,
}

impl GitSnapshot {
    /// Reads it. Blocks; none if nothing has to be compared.
    pub(crate) fn of(sandbox: &Sandbox, backend: Option<SandboxBackend>) -> Option<Self> {
        let GitGuard {
            workspaces,
            directories,
            allowed,
            quarantine,
        } = &sandbox.git;
        if workspaces.is_empty() && directories.is_empty() {
            return None;
        }
        let real = |paths: &[PathBuf]| -> Vec<PathBuf> {
            let real: BTreeSet<PathBuf> = paths
                .iter()
                .filter_map(|path| fs::canonicalize(path).ok())
                .collect();
            real.into_iter().collect()
        };
        let writable: Vec<PathBuf> = sandbox
            .writable
            .iter()
            .chain(&sandbox.temporary)
            .cloned()
            .collect();
        let places = GitSearchPaths {
            roots: real(&writable),
            workspaces: real(workspaces),
            directories: real(directories),
            allowed: real(allowed),
        };
        let look = GuardedFiles::at(&places);
        let is_mounted =
            |path: &&PathBuf| fs::symlink_metadata(path).is_ok_and(|found| !found.is_symlink());
        let protected = sandbox
            .protected
            .iter()
            .filter(|_| backend == Some(SandboxBackend::Bubblewrap));
        let fixed = real(&protected.filter(is_mounted).cloned().collect::<Vec<_>>());
        Some(Self {
            places,
            fixed,
            quarantine: quarantine.clone(),
            look,
        })
    }

    /// Compares, and undoes what would make git run something. Blocks; says what it did, for people.
    pub(crate) fn undo_unsafe_changes(&self) -> Vec<String> {
        let after = GuardedFiles::at(&self.places);
        let paths: BTreeSet<&PathBuf> = self.look.files.keys().chain(after.files.keys()).collect();
        let mut store = FileQuarantine::new(self.quarantine.clone());
        let mut told = Vec::new();
        let is_fixed = |path: &PathBuf| self.fixed.iter().any(|fixed| path.starts_with(fixed));
        for path in paths.into_iter().filter(|path| !is_fixed(path)) {
            let (before, now) = (self.look.files.get(path), after.files.get(path));
            if let Some(verdict) = repair_for(before, now) {
                told.push(self.undo(path, &verdict, &mut store));
            }
        }
        let more = told.len().saturating_sub(TOLD);
        told.truncate(TOLD);
        told.extend((more > 0).then(|| format!("and {more} more")));
        told
    }

    fn undo(&self, path: &Path, verdict: &FileRepair, store: &mut FileQuarantine) -> String {
        let shown = self
            .places
            .workspaces
            .iter()
            .find_map(|place| path.strip_prefix(place).ok());
        let shown = shown.unwrap_or(path).display();
        // The shortest: its parents are not writable, so nothing can be put in its place.
        let root = self
            .places
            .roots
            .iter()
            .filter(|root| path.starts_with(root))
            .min_by_key(|root| root.as_os_str().len());
        let Some(root) = root else {
            return format!("{shown}: {}", verdict.why);
        };
        match store.replace(root, path, verdict) {
            Ok(Some(kept)) => {
                format!(
                    "{shown}: {}; {} (kept in {})",
                    verdict.why,
                    verdict.description(),
                    kept.display()
                )
            }
            Ok(None) => format!("{shown}: {}; {}", verdict.why, verdict.description()),
            Err(error) => format!(
                "{shown}: {}; it could NOT be undone ({error}), look at it before you use git",
                verdict.why
            ),
        }
    }
}

//! Cache of disk scans for the sandboxes of a session, so that not every command scans again.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use rooftree_process::sandbox::repositories_below;
use rooftree_protocol::SessionId;

use super::denied_files::{DeniedFiles, DeniedGlobs};

/// Maximum number of cached sessions; evicted ones scan again.
const SESSIONS: usize = 256;

/// A scan is repeated only after this many times its own duration, so that it takes at most that share of the time.
const SHARE: u32 = 20;

/// Scan results by session and directory. Cheap to clone; clones share the results.
#[derive(Clone, Debug, Default)]
pub struct SandboxScanCache(Arc<Mutex<HashMap<(SessionId, PathBuf), SessionScan>>>);

#[derive(Clone, Debug, Default)]
struct SessionScan {
    repositories: Option<Arc<[PathBuf]>>,
    looked: Option<CachedScan>,
}

#[derive(Clone, Debug)]
struct CachedScan {
    globs: Arc<[String]>,
    found: DeniedFiles,
    at: Instant,
    took: Duration,
}

impl SandboxScanCache {
    /// The repositories that were below a directory when the session first asked. What a command has made
    /// since is its own, and can be removed again.
    pub(super) fn repositories(&self, session: &SessionId, cwd: &Path) -> Arc<[PathBuf]> {
        if let Some(known) = self.known(session, cwd).repositories {
            return known;
        }
        let found: Arc<[PathBuf]> = repositories_below(cwd).into();
        self.note(session, cwd, |known| {
            known
                .repositories
                .get_or_insert_with(|| found.clone())
                .clone()
        })
    }

    /// Files that rules hide. The scan is repeated after a while, and whenever the rules have changed.
    pub(super) fn hidden(
        &self,
        session: &SessionId,
        cwd: &Path,
        globs: &Arc<[String]>,
        hiding: &DeniedGlobs,
    ) -> DeniedFiles {
        let is_good = |looked: &CachedScan| {
            looked.globs == *globs && looked.at.elapsed() < looked.took * SHARE
        };
        if let Some(looked) = self.known(session, cwd).looked.filter(is_good) {
            return looked.found;
        }
        let at = Instant::now();
        let found = hiding.look();
        let looked = CachedScan {
            globs: globs.clone(),
            found: found.clone(),
            at,
            took: at.elapsed(),
        };
        self.note(session, cwd, |known| known.looked = Some(looked));
        found
    }

    fn known(&self, session: &SessionId, cwd: &Path) -> SessionScan {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.get(&(session.clone(), cwd.to_owned()))
            .cloned()
            .unwrap_or_default()
    }

    fn note<T>(
        &self,
        session: &SessionId,
        cwd: &Path,
        note: impl FnOnce(&mut SessionScan) -> T,
    ) -> T {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= SESSIONS {
            all.clear();
        }
        note(all.entry((session.clone(), cwd.to_owned())).or_default())
    }
}

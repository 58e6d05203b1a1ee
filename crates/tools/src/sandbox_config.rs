//! Sandbox of a session's programs: builds it from the settings, around the working directory.

mod denied_files;
mod scan_cache;

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::{Arc, Once},
    time::Duration,
};

use rooftree_process::{
    Sandbox,
    sandbox::{SandboxNetwork as Reach, repositories_below},
};
use rooftree_protocol::{Confinement, Network, SandboxMode, SessionId};

use crate::{
    file_scope::{FileScope, LazyPrivatePlaces},
    resolved_path,
    sensitive_paths::OBEYED,
};
use denied_files::DeniedGlobs;

pub use scan_cache::SandboxScanCache;

/// How long a session's `/tmp` is kept after its last use.
const KEPT: Duration = Duration::from_secs(3 * 24 * 60 * 60);

/// Sandbox configuration of programs. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct SandboxConfig {
    /// File and network access of programs.
    pub confinement: Confinement,
    /// Our own directories: the database, the settings, the keys. Never visible.
    pub private: Arc<[PathBuf]>,
    /// Files that something runs which is not confined: a command may read and not change them.
    pub protected: Arc<[PathBuf]>,
    /// Where sessions have the directory that is their `/tmp`; none: an empty one for each program.
    pub scratch: Option<PathBuf>,
    /// Globs that deny rules exclude from reading; see [`crate::Policy::unreadable`].
    pub unreadable: Arc<[String]>,
    /// Directories of our own that the session's file tools may read: skills, memory, working copies.
    pub shared: Arc<[PathBuf]>,
    /// The directory tree that the session's directory is a copy of, and the root of the copy.
    pub copy: Option<(PathBuf, PathBuf)>,
    /// Cache of disk scans; clones share it.
    pub survey: SandboxScanCache,
    /// Where private places really are; copies share it.
    pub known: LazyPrivatePlaces,
}

/// A sandbox, and what it does not keep although rules say so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionSandbox {
    /// The sandbox.
    pub sandbox: Sandbox,
    /// Whether there was more to look through than is looked through for what rules deny.
    pub is_partial: bool,
}

impl SandboxConfig {
    /// Not at all.
    pub fn off() -> Self {
        let confinement = Confinement {
            mode: SandboxMode::Off,
            ..Confinement::default()
        };
        Self {
            confinement,
            ..Self::default()
        }
    }

    /// Whether a path is in a directory of our own, whose content decides what happens later. A session whose working
    /// directory is inside such a directory may change files there.
    pub fn is_own_path(&self, path: &Path, cwd: &Path) -> bool {
        let (path, cwd) = (
            resolved_path::real_path(path),
            resolved_path::real_path(cwd),
        );
        let is_own = |directory: &PathBuf| {
            path.starts_with(directory) && !(cwd.starts_with(directory) && path.starts_with(&cwd))
        };
        self.known.of(&self.private).own().iter().any(is_own)
    }

    /// Which files the file tools of a session in this directory may touch without a rule.
    pub fn file_scope(&self, cwd: &Path) -> FileScope {
        let Confinement {
            writable,
            readable,
            reading,
            ..
        } = &self.confinement;
        let granted = [cwd]
            .into_iter()
            .map(Path::to_owned)
            .chain(writable.iter().cloned());
        let granted = granted
            .chain(readable.iter().cloned())
            .chain(self.shared.iter().cloned());
        FileScope::new(self.known.of(&self.private), granted, *reading).in_copy(self.copy.clone())
    }

    /// The same with other settings, without what is known about the disk being lost.
    #[must_use]
    pub fn with(&self, confinement: Confinement, unreadable: Vec<String>) -> Self {
        Self {
            confinement,
            unreadable: unreadable.into(),
            ..self.clone()
        }
    }

    /// The sandbox for a program of a session; none if it is not to be confined. Makes the session's `/tmp`.
    pub fn sandbox(&self, session: &SessionId, cwd: &Path) -> Option<SessionSandbox> {
        let mut sandbox = self.bare(cwd)?;
        for git in self.survey.repositories(session, cwd).iter() {
            sandbox.protect_repository(git);
        }
        sandbox.temporary = self
            .scratch
            .as_ref()
            .and_then(|scratch| prepared(scratch, session).ok());
        let is_partial = self.deny(&mut sandbox, session, cwd);
        Some(SessionSandbox {
            sandbox,
            is_partial,
        })
    }

    /// The sandbox for a program that is no session's; it has a `/tmp` of its own.
    pub fn standalone_sandbox(&self, cwd: &Path) -> Option<Sandbox> {
        let mut sandbox = self.bare(cwd)?;
        repositories_below(cwd)
            .iter()
            .for_each(|git| sandbox.protect_repository(git));
        Some(sandbox)
    }

    fn bare(&self, cwd: &Path) -> Option<Sandbox> {
        let Confinement {
            mode,
            network,
            writable,
            readable,
            ..
        } = &self.confinement;
        if *mode == SandboxMode::Off {
            return None;
        }
        // With a list of hosts it has no network, and a proxy serves it.
        let reach = if *network == Network::On {
            Reach::On
        } else {
            Reach::Off
        };
        let mut sandbox = Sandbox::around(cwd, reach);
        sandbox.writable.extend(writable.iter().cloned());
        sandbox.readable.extend(readable.iter().cloned());
        sandbox
            .hidden
            .extend(self.known.of(&self.private).own().iter().cloned());
        let walled = OBEYED
            .iter()
            .filter(|obeyed| obeyed.is_walled)
            .map(|obeyed| cwd.join(obeyed.name));
        sandbox.protected.extend(walled);
        sandbox.protected.extend(self.protected.iter().cloned());
        sandbox.git.quarantine = self
            .scratch
            .as_ref()
            .map(|scratch| scratch.with_file_name("quarantine"));
        // Named by the user, so what is in there is the user's decision.
        let is_named = |path: &&PathBuf| path.starts_with(cwd) && path.as_path() != cwd;
        sandbox.git.allowed = writable.iter().filter(is_named).cloned().collect();
        Some(sandbox)
    }

    /// Hides what rules keep from being read; says whether there may be more of it.
    fn deny(&self, sandbox: &mut Sandbox, session: &SessionId, cwd: &Path) -> bool {
        if self.unreadable.is_empty() {
            return false;
        }
        let places = [cwd.to_owned()]
            .into_iter()
            .chain(self.confinement.writable.iter().cloned());
        let places = places.chain(self.confinement.readable.iter().cloned());
        // What is found by walking has no links in its name.
        let places: Vec<PathBuf> = places
            .filter_map(|place| fs::canonicalize(place).ok())
            .collect();
        let hiding = DeniedGlobs::new(&self.unreadable, &places);
        sandbox.denied.extend(hiding.plain());
        if !hiding.has_to_look() {
            return false;
        }
        let found = self.survey.hidden(session, cwd, &self.unreadable, &hiding);
        sandbox.denied.extend(found.paths);
        found.is_partial
    }
}

/// The directory that is a session's `/tmp`; other users cannot read it.
fn prepared(scratch: &Path, session: &SessionId) -> io::Result<PathBuf> {
    use std::os::unix::fs::DirBuilderExt;
    static SWEPT: Once = Once::new();
    SWEPT.call_once(|| sweep(scratch));
    let directory = scratch.join(session.as_str());
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&directory)?;
    Ok(directory)
}

/// Removes directories that have not been used for long. One that cannot be removed is tried again later.
fn sweep(scratch: &Path) {
    let is_old = |path: &PathBuf| {
        let used = fs::metadata(path).and_then(|found| found.modified()).ok();
        used.and_then(|used| used.elapsed().ok())
            .is_some_and(|age| age > KEPT)
    };
    let entries = fs::read_dir(scratch)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path());
    entries
        .filter(is_old)
        .for_each(|path| drop(fs::remove_dir_all(path)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_directories_are_hidden_and_what_decides_is_protected() {
        let place = tempfile::tempdir().unwrap();
        let session = SessionId::from_entropy(1);
        let confining = SandboxConfig {
            confinement: Confinement {
                network: Network::Off,
                writable: vec!["/srv/cache".into()],
                ..Confinement::default()
            },
            private: [PathBuf::from("/srv/own")].into(),
            protected: [place.path().join("check.sh")].into(),
            scratch: Some(place.path().join("scratch")),
            ..SandboxConfig::default()
        };
        let sandbox = confining.sandbox(&session, place.path()).unwrap().sandbox;
        assert!(sandbox.hidden.contains(&"/srv/own".into()));
        assert!(sandbox.writable.contains(&"/srv/cache".into()));
        assert!(sandbox.protected.contains(&place.path().join(".rooftree")));
        assert!(sandbox.protected.contains(&place.path().join("check.sh")));
        assert_eq!(sandbox.network, Reach::Off);
        assert!(sandbox.temporary.unwrap().is_dir());
        assert_eq!(SandboxConfig::off().sandbox(&session, place.path()), None);
    }
}

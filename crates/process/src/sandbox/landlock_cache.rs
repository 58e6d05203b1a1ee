//! Cache of Landlock grants: computed once for a sandbox, and again when the disk has changed in a way that matters.
//!
//! Invariant: a cached list allows nothing that a new one would refuse. A path of the sandbox that appears, vanishes or
//! becomes another file, and an entry that is added to a directory whose entries are allowed one by one, make the list
//! invalid. Granted paths are opened without following links, so a link that was put in the place of one leads nowhere.

use std::{
    fs,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use super::{
    Sandbox,
    landlock::{LandlockGrant, grants},
    path_identity::{DirectoryVersion, PathIdentity},
};

/// Maximum number of cached sandboxes; the oldest is evicted.
const SANDBOXES: usize = 32;

/// A list is computed again after this time, whatever else is known.
const MAX_AGE: Duration = Duration::from_secs(60);

struct CachedGrants {
    sandbox: SandboxPaths,
    /// What the paths of the sandbox were, in their order.
    seen: Vec<PathIdentity>,
    /// The directories whose entries are allowed one by one, as they were.
    listed: Arc<[DirectoryVersion]>,
    at: Instant,
    profile: Arc<LandlockProfile>,
}

/// What Landlock makes of a sandbox.
#[derive(Debug)]
pub(super) struct LandlockProfile {
    pub(super) allowed: Vec<LandlockGrant>,
    /// See [`Sandbox::is_closed_to_landlock`].
    pub(super) is_closed: bool,
}

/// The parts of a sandbox that decide what Landlock allows.
#[derive(Clone, PartialEq, Eq)]
struct SandboxPaths([Vec<PathBuf>; 6], Option<PathBuf>);

impl SandboxPaths {
    fn of(sandbox: &Sandbox) -> Self {
        Self(
            [
                sandbox.hidden.clone(),
                sandbox.readable.clone(),
                sandbox.writable.clone(),
                sandbox.protected.clone(),
                sandbox.denied.clone(),
                sandbox.git.workspaces.clone(),
            ],
            sandbox.temporary.clone(),
        )
    }

    fn identities(&self) -> Vec<PathIdentity> {
        let Self(lists, temporary) = self;
        let paths = lists.iter().flatten().chain(temporary);
        paths.map(|path| PathIdentity::of(path)).collect()
    }
}

/// What a sandbox allows, from the cache if that still holds.
pub(super) fn landlock_profile(sandbox: &Sandbox) -> Arc<LandlockProfile> {
    static CACHE: Mutex<Vec<CachedGrants>> = Mutex::new(Vec::new());
    let paths = SandboxPaths::of(sandbox);
    // Before the grants: what changes in between makes the list invalid for the next command.
    let (at, seen) = (Instant::now(), paths.identities());
    let locked = || CACHE.lock().unwrap_or_else(PoisonError::into_inner);
    let is_good = |known: &&CachedGrants| {
        known.sandbox == paths && known.seen == seen && known.at.elapsed() < MAX_AGE
    };
    let known = locked()
        .iter()
        .find(is_good)
        .map(|known| (known.listed.clone(), known.profile.clone()));
    if let Some((listed, profile)) = known
        && listed.iter().all(DirectoryVersion::is_current)
    {
        return profile;
    }
    let found = grants(sandbox);
    let profile = Arc::new(LandlockProfile {
        allowed: found.allowed,
        is_closed: is_closed(sandbox),
    });
    let mut cache = locked();
    cache.retain(|known| known.sandbox != paths);
    if cache.len() >= SANDBOXES {
        cache.remove(0);
    }
    cache.push(CachedGrants {
        sandbox: paths,
        seen,
        listed: found.listed.into(),
        at,
        profile: profile.clone(),
    });
    profile
}

impl Sandbox {
    /// A working directory in which something is hidden, such as a home with its keys: a program that Landlock
    /// confines can neither list it nor make anything in it.
    pub fn is_closed_to_landlock(&self) -> bool {
        landlock_profile(self).is_closed
    }
}

/// Whether a working directory has something hidden in it.
fn is_closed(sandbox: &Sandbox) -> bool {
    let real = |path: &PathBuf| fs::canonicalize(path).ok();
    let hidden: Vec<PathBuf> = sandbox.hidden.iter().filter_map(real).collect();
    let is_closed = |place: PathBuf| {
        hidden
            .iter()
            .any(|path| *path != place && path.starts_with(&place))
    };
    sandbox
        .git
        .workspaces
        .iter()
        .filter_map(real)
        .any(is_closed)
}

#[cfg(test)]
mod tests {
    use std::{path::Path, time::SystemTime};

    use super::*;

    #[test]
    fn p_6_grants_are_kept_until_the_disk_changes_what_they_allow() {
        let place = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(place.path()).unwrap();
        fs::create_dir_all(root.join("home/project")).unwrap();
        fs::create_dir_all(root.join("open/a")).unwrap();
        let sandbox = Sandbox {
            hidden: vec![root.join("home"), root.join("open/secret")],
            readable: vec![root.clone()],
            writable: vec![root.join("home/project")],
            ..Sandbox::default()
        };
        // Times of changes are too coarse for a test that does not wait.
        let date = |days: u64| {
            let changed = SystemTime::UNIX_EPOCH + Duration::from_secs(days * 86_400);
            for directory in ["", "open"] {
                let opened = fs::File::open(root.join(directory)).unwrap();
                opened.set_modified(changed).unwrap();
            }
        };
        date(1);
        let first = landlock_profile(&sandbox);
        assert!(Arc::ptr_eq(&first, &landlock_profile(&sandbox)), "kept");
        let is_allowed = |profile: &LandlockProfile, path: &Path| {
            let mut allowed = profile.allowed.iter();
            allowed.any(|grant| path.starts_with(&grant.path))
        };
        assert!(is_allowed(&first, &root.join("open/secret")));

        // A hidden path that did not exist is hidden as soon as it does.
        fs::create_dir(root.join("open/secret")).unwrap();
        date(2);
        let second = landlock_profile(&sandbox);
        assert!(!is_allowed(&second, &root.join("open/secret")));
        assert!(is_allowed(&second, &root.join("open/a")));

        // A new neighbour of a hidden path is allowed.
        fs::create_dir(root.join("open/b")).unwrap();
        date(3);
        assert!(is_allowed(
            &landlock_profile(&sandbox),
            &root.join("open/b")
        ));
        // What the writable directory holds does not matter.
        let last = landlock_profile(&sandbox);
        fs::write(root.join("home/project/file"), "").unwrap();
        assert!(Arc::ptr_eq(&last, &landlock_profile(&sandbox)), "kept");
    }
}

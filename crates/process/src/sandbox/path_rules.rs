//! Path permissions of a sandbox: merges its lists into one list of rules, shorter paths first.
//!
//! Both backends use the same rules, so that a sandbox means the same for both.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::Sandbox;

/// Permission of a path and everything below it; a rule for a longer path overrides it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum PathPermission {
    Hidden,
    Readable,
    Writable,
    /// As writable as what is around it, but it cannot be moved away: something protected lies below.
    Pinned,
    Protected,
    /// Neither readable nor writable. No path below it has a rule of its own.
    Denied,
}

/// A path and its permission.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PathRule {
    pub(super) path: PathBuf,
    pub(super) hold: PathPermission,
}

/// The rules of a sandbox. Paths that do not exist are left out, links are followed.
pub(super) fn path_rules(sandbox: &Sandbox) -> Vec<PathRule> {
    let lists = [
        (PathPermission::Hidden, &sandbox.hidden),
        (PathPermission::Readable, &sandbox.readable),
        (PathPermission::Writable, &sandbox.writable),
        (PathPermission::Protected, &sandbox.protected),
        (PathPermission::Denied, &sandbox.denied),
    ];
    let mut rungs = Vec::new();
    for (hold, paths) in lists {
        for path in paths {
            // What is protected is protected where it is: a link to elsewhere is itself the thing.
            let is_link = fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink());
            if hold == PathPermission::Protected && is_link {
                continue;
            }
            rungs.extend(
                fs::canonicalize(path)
                    .ok()
                    .map(|path| PathRule { path, hold }),
            );
        }
    }
    // Everything may be read, nothing may be writable: the root is no place to work in.
    rungs.retain(|rung| rung.path != Path::new("/"));
    rungs.extend(pins(&rungs));
    rungs.sort_by_key(|rung| (rung.path.components().count(), rung.path.clone(), rung.hold));
    // At the same path the strongest word of the list counts.
    rungs.dedup_by(|later, earlier| {
        let is_same = later.path == earlier.path;
        if is_same {
            earlier.hold = later.hold;
        }
        is_same
    });
    let denied: Vec<PathBuf> = held(&rungs, PathPermission::Denied)
        .map(Path::to_owned)
        .collect();
    rungs.retain(|rung| {
        !denied
            .iter()
            .any(|path| rung.path != *path && rung.path.starts_with(path))
    });
    rungs
}

fn held(rungs: &[PathRule], hold: PathPermission) -> impl Iterator<Item = &Path> {
    rungs
        .iter()
        .filter(move |rung| rung.hold == hold)
        .map(|rung| rung.path.as_path())
}

/// Directories between something protected and the writable place it is in.
fn pins(rungs: &[PathRule]) -> Vec<PathRule> {
    let is_writable = |path: &Path| {
        rungs
            .iter()
            .any(|rung| rung.hold == PathPermission::Writable && rung.path == path)
    };
    let mut pins = Vec::new();
    for protected in rungs
        .iter()
        .filter(|rung| rung.hold == PathPermission::Protected)
    {
        let between: Vec<&Path> = protected
            .path
            .ancestors()
            .skip(1)
            .take_while(|path| !is_writable(path))
            .collect();
        if between
            .last()
            .is_some_and(|last| last.parent().is_some_and(is_writable))
        {
            pins.extend(between.into_iter().map(|path| PathRule {
                path: path.to_owned(),
                hold: PathPermission::Pinned,
            }));
        }
    }
    pins
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_name_decides_and_what_leads_to_something_protected_is_pinned() {
        let place = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(place.path()).unwrap();
        fs::create_dir_all(root.join("home/project/.git/hooks")).unwrap();
        fs::create_dir_all(root.join("home/.tool")).unwrap();
        let sandbox = Sandbox {
            hidden: vec![root.join("home"), root.join("home/project/gone")],
            readable: vec![root.join("home/.tool")],
            writable: vec![root.join("home/project"), "/".into()],
            protected: vec![root.join("home/project/.git/hooks")],
            ..Sandbox::default()
        };
        let found: Vec<(String, PathPermission)> = path_rules(&sandbox)
            .into_iter()
            .map(|rung| {
                (
                    rung.path.strip_prefix(&root).unwrap().display().to_string(),
                    rung.hold,
                )
            })
            .collect();
        let wanted = [
            ("home", PathPermission::Hidden),
            ("home/.tool", PathPermission::Readable),
            ("home/project", PathPermission::Writable),
            ("home/project/.git", PathPermission::Pinned),
            ("home/project/.git/hooks", PathPermission::Protected),
        ];
        assert_eq!(found, wanted.map(|(path, hold)| (path.to_owned(), hold)));
    }

    #[test]
    fn nothing_below_what_is_denied_is_given_back() {
        let place = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(place.path()).unwrap();
        fs::create_dir_all(root.join("work/secrets/public")).unwrap();
        let sandbox = Sandbox {
            writable: vec![root.join("work"), root.join("work/secrets")],
            readable: vec![root.join("work/secrets/public")],
            denied: vec![root.join("work/secrets"), root.join("work/none")],
            ..Sandbox::default()
        };
        let found: Vec<(PathBuf, PathPermission)> = path_rules(&sandbox)
            .into_iter()
            .map(|rung| (rung.path, rung.hold))
            .collect();
        assert_eq!(
            found,
            [
                (root.join("work"), PathPermission::Writable),
                (root.join("work/secrets"), PathPermission::Denied)
            ]
        );
    }

    #[test]
    fn a_link_in_place_of_something_protected_is_not_followed() {
        let place = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("/etc", place.path().join(".git")).unwrap();
        let sandbox = Sandbox {
            protected: vec![place.path().join(".git")],
            ..Sandbox::default()
        };
        assert_eq!(path_rules(&sandbox), []);
    }
}

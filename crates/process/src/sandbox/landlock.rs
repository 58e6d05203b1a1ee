//! Translates a sandbox into Landlock rules: an allow list of readable and writable paths.
//!
//! Landlock knows only what is allowed, with everything below it. So around something hidden each
//! neighbour is allowed by itself, and the directory that holds them cannot be listed. What is
//! protected or denied inside something writable cannot be told apart: that needs bubblewrap.

use std::{
    fs,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
};

use landlock::{
    ABI, Access, AccessFs, CompatLevel, Compatible, PathBeneath, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetError, Scope,
};
use rustix::{
    fs::{CWD, Mode, OFlags, ResolveFlags, openat, openat2},
    io::Errno,
};

use super::{
    Sandbox,
    path_identity::DirectoryVersion,
    path_rules::{PathPermission, PathRule, path_rules},
};

/// What a program needs to be able to write to, wherever it works.
const DEVICES: [&str; 8] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
    "/dev/ptmx",
    "/dev/pts",
];

/// Places that bubblewrap replaces by empty ones.
const ELSEWHERE: [&str; 5] = ["/dev", "/tmp", "/var/tmp", "/run", "/proc"];

/// What root could read there and no program needs.
const SECRET: [&str; 5] = ["kcore", "kmsg", "keys", "key-users", "sysrq-trigger"];

/// The calling process in `/proc`: a link to its own directory.
pub(super) const OWN_PROCESS: &str = "/proc/self";

/// A path that may be used with everything below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LandlockGrant {
    pub(super) path: PathBuf,
    pub(super) is_writable: bool,
}

/// All that a sandbox allows, and the directories whose entries decided it.
#[derive(Debug, Default)]
pub(crate) struct LandlockGrants {
    pub(super) allowed: Vec<LandlockGrant>,
    pub(super) listed: Vec<DirectoryVersion>,
}

/// Computes what a sandbox allows, from what is on the disk now.
pub(super) fn grants(sandbox: &Sandbox) -> LandlockGrants {
    let mut whole = sandbox.clone();
    let beyond = sandbox.beyond_landlock();
    whole.hidden.extend(
        std::mem::take(&mut whole.denied)
            .into_iter()
            .filter(|path| !beyond.contains(path)),
    );
    whole.hidden.extend(ELSEWHERE.iter().map(PathBuf::from));
    whole.readable.extend(of_kernel());
    whole.writable.extend(
        DEVICES
            .iter()
            .map(PathBuf::from)
            .chain(sandbox.temporary.clone()),
    );
    let rungs = path_rules(&whole);
    let mut grants = LandlockGrants::default();
    grant(
        &PathRule {
            path: "/".into(),
            hold: PathPermission::Readable,
        },
        &rungs,
        &mut grants,
    );
    grants
}

/// What the kernel says about itself in `/proc`. Processes are there too, with their arguments, which can
/// hold keys: a program sees its own directory (`become_confined`) and no other one.
fn of_kernel() -> Vec<PathBuf> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let is_process = |name: &str| name.bytes().all(|byte| byte.is_ascii_digit());
    let is_kept = |name: &str| is_process(name) || SECRET.contains(&name);
    let plain = entries.filter(|entry| entry.file_type().is_ok_and(|kind| !kind.is_symlink()));
    plain
        .filter(|entry| !is_kept(&entry.file_name().to_string_lossy()))
        .map(|entry| entry.path())
        .collect()
}

impl Sandbox {
    /// What is denied and cannot be kept from a program that Landlock confines: around it, nothing new
    /// could be written either.
    pub fn beyond_landlock(&self) -> Vec<PathBuf> {
        let real = |path: &PathBuf| fs::canonicalize(path).ok();
        let writable: Vec<PathBuf> = self.writable.iter().filter_map(real).collect();
        let is_inside = |path: &&PathBuf| {
            real(path)
                .is_some_and(|path| writable.iter().any(|writable| path.starts_with(writable)))
        };
        self.denied.iter().filter(is_inside).cloned().collect()
    }
}

fn grant(at: &PathRule, rungs: &[PathRule], grants: &mut LandlockGrants) {
    let below = || {
        rungs
            .iter()
            .filter(|rung| rung.path != at.path && rung.path.starts_with(&at.path))
    };
    let is_writable = matches!(at.hold, PathPermission::Writable | PathPermission::Pinned);
    if at.hold != PathPermission::Hidden {
        if below().any(|rung| rung.hold == PathPermission::Hidden) {
            return neighbours(at, rungs, grants);
        }
        grants.allowed.push(LandlockGrant {
            path: at.path.clone(),
            is_writable,
        });
    }
    // Only those with nothing in between: the others are reached through them.
    let is_next = |rung: &&PathRule| {
        !below().any(|other| other.path != rung.path && rung.path.starts_with(&other.path))
    };
    below()
        .filter(is_next)
        .for_each(|rung| grant(rung, rungs, grants));
}

/// What is beside something hidden, one by one. Links are left out: what they lead to has its own place.
fn neighbours(at: &PathRule, rungs: &[PathRule], grants: &mut LandlockGrants) {
    grants.listed.push(DirectoryVersion::of(&at.path));
    for entry in fs::read_dir(&at.path).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_symlink()) {
            continue;
        }
        let path = entry.path();
        let hold = rungs
            .iter()
            .find(|rung| rung.path == path)
            .map_or(at.hold, |rung| rung.hold);
        grant(&PathRule { path, hold }, rungs, grants);
    }
}

/// Beyond so many grants, descriptors are not kept: a process may have a thousand.
const KEPT: usize = 400;

/// Grants whose paths are open, so that several processes can confine themselves to them.
#[derive(Debug)]
pub(super) struct OpenedGrants {
    grants: Vec<LandlockGrant>,
    /// In the order of the grants, or nothing if there are too many. What has gone away since it was listed is not open.
    opened: Vec<Option<OwnedFd>>,
}

impl OpenedGrants {
    pub(super) fn new(grants: Vec<LandlockGrant>) -> Self {
        let kept = grants.iter().filter(|_| grants.len() <= KEPT);
        let opened = kept.map(|grant| opened(&grant.path)).collect();
        Self { grants, opened }
    }
}

/// Confines the calling thread, for good. Its own directory in `/proc` is allowed too.
pub(super) fn restrict(grants: &OpenedGrants) -> Result<(), RulesetError> {
    // Before the third version a file could be emptied without permission: that is no sandbox.
    let needed = AccessFs::from_all(ABI::V3);
    let wanted = AccessFs::from_all(ABI::V7);
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(needed)?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(wanted)?
        .scope(Scope::from_all(ABI::V7))?
        .create()?;
    let OpenedGrants {
        grants,
        opened: kept,
    } = grants;
    let own = LandlockGrant {
        path: OWN_PROCESS.into(),
        is_writable: false,
    };
    for (at, LandlockGrant { path, is_writable }) in grants.iter().chain([&own]).enumerate() {
        let rights = if *is_writable {
            wanted
        } else {
            AccessFs::from_read(ABI::V7)
        };
        // Rights of directories are left out of a rule for a file (`CompatLevel::BestEffort`).
        match kept.get(at) {
            Some(Some(file)) => ruleset = ruleset.add_rule(PathBeneath::new(file, rights))?,
            Some(None) => {}
            None => {
                // What has gone away since it was listed needs no rule.
                if let Some(file) = opened(path) {
                    ruleset = ruleset.add_rule(PathBeneath::new(file, rights))?;
                }
            }
        }
    }
    ruleset.restrict_self().map(|_| ())
}

/// Opens a granted path. It was listed without links in it, so a link in it now was put there since, and is not
/// followed: it could lead to something hidden.
fn opened(path: &Path) -> Option<OwnedFd> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let resolve = if path == Path::new(OWN_PROCESS) {
        ResolveFlags::empty()
    } else {
        ResolveFlags::NO_SYMLINKS
    };
    match openat2(CWD, path, flags, Mode::empty(), resolve) {
        // Some containers refuse this call.
        Err(Errno::NOSYS | Errno::PERM) => {
            openat(CWD, path, flags | OFlags::NOFOLLOW, Mode::empty()).ok()
        }
        opened => opened.ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_of_something_hidden_are_allowed_one_by_one() {
        let place = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(place.path()).unwrap();
        for directory in ["home/secret", "home/.tool/bin", "home/project/src", "etc"] {
            fs::create_dir_all(root.join(directory)).unwrap();
        }
        std::os::unix::fs::symlink(root.join("home/secret"), root.join("way-in")).unwrap();
        let sandbox = Sandbox {
            hidden: vec![root.join("home")],
            readable: vec![root.join("home/.tool")],
            writable: vec![root.join("home/project")],
            ..Sandbox::default()
        };
        let mut found = LandlockGrants::default();
        grant(
            &PathRule {
                path: root.clone(),
                hold: PathPermission::Readable,
            },
            &path_rules(&sandbox),
            &mut found,
        );
        let mut found: Vec<(String, bool)> = found
            .allowed
            .into_iter()
            .map(|grant| {
                (
                    grant
                        .path
                        .strip_prefix(&root)
                        .unwrap()
                        .display()
                        .to_string(),
                    grant.is_writable,
                )
            })
            .collect();
        found.sort();
        let wanted = [
            ("etc", false),
            ("home/.tool", false),
            ("home/project", true),
        ];
        assert_eq!(
            found,
            wanted.map(|(path, is_writable)| (path.to_owned(), is_writable))
        );
    }
}

//! Proof that a sandbox which was made earlier is the one that would be made now.
//!
//! The sandbox as data is compared as a whole. Of the disk, everything that decided what was mounted or granted is
//! compared: which file each path is, and whether anything was mounted since.

use std::{
    fs::File,
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::sandbox::{
    Sandbox, SandboxBackend,
    landlock_cache::{LandlockProfile, landlock_profile},
    path_identity::PathIdentity,
    path_rules::path_rules,
};

/// A sandbox is made anew after this time, whatever else is known.
const MAX_AGE: Duration = Duration::from_secs(60);

/// Paths of the machine that decide what is mounted inside every sandbox.
const MACHINE: [&str; 9] = [
    "/proc/sys",
    "/proc/sysrq-trigger",
    "/proc/irq",
    "/proc/bus",
    "/var/tmp",
    "/run",
    "/dev/shm",
    "/etc/resolv.conf",
    "/tmp",
];

/// What a sandbox was made from.
#[derive(Debug)]
pub(crate) struct ForkerProof {
    sandbox: Arc<Sandbox>,
    backend: SandboxBackend,
    at: Instant,
    disk: DiskProof,
}

#[derive(Debug)]
enum DiskProof {
    Mounted {
        /// Paths that rules are for, with their links followed.
        ruled: Vec<PathBuf>,
        seen: Vec<PathIdentity>,
        mounts: MountWatch,
    },
    Granted {
        profile: Arc<LandlockProfile>,
        /// Which files the granted paths were, in their order.
        seen: Vec<PathIdentity>,
    },
}

impl ForkerProof {
    /// To be taken before the sandbox is made: what changes in between makes it invalid.
    pub(crate) fn of(sandbox: &Arc<Sandbox>, backend: SandboxBackend) -> io::Result<Self> {
        let disk = match backend {
            SandboxBackend::Landlock => {
                let profile = landlock_profile(sandbox);
                let seen = granted(&profile);
                DiskProof::Granted { profile, seen }
            }
            SandboxBackend::Bubblewrap => {
                let mounts = MountWatch::start()?;
                let ruled: Vec<PathBuf> = path_rules(sandbox)
                    .into_iter()
                    .map(|rule| rule.path)
                    .collect();
                let seen = identities(sandbox, &ruled);
                DiskProof::Mounted {
                    ruled,
                    seen,
                    mounts,
                }
            }
        };
        Ok(Self {
            sandbox: sandbox.clone(),
            backend,
            at: Instant::now(),
            disk,
        })
    }

    /// Whether it is about this sandbox, as data.
    pub(crate) fn is_about(&self, sandbox: &Sandbox, backend: SandboxBackend) -> bool {
        self.backend == backend && *self.sandbox == *sandbox
    }

    /// Whether it holds now.
    pub(crate) fn holds(&self) -> bool {
        self.at.elapsed() < MAX_AGE
            && match &self.disk {
                DiskProof::Mounted {
                    ruled,
                    seen,
                    mounts,
                } => mounts.is_unchanged() && identities(&self.sandbox, ruled) == *seen,
                DiskProof::Granted { profile, seen } => {
                    let now = landlock_profile(&self.sandbox);
                    Arc::ptr_eq(profile, &now)
                        || (profile.allowed == now.allowed && *seen == granted(&now))
                }
            }
    }
}

/// Which files are granted now.
fn granted(profile: &LandlockProfile) -> Vec<PathIdentity> {
    let paths = profile.allowed.iter().map(|grant| grant.path.as_path());
    paths.map(PathIdentity::of).collect()
}

fn identities(sandbox: &Sandbox, ruled: &[PathBuf]) -> Vec<PathIdentity> {
    let Sandbox {
        writable,
        protected,
        hidden,
        readable,
        denied,
        temporary,
        ..
    } = sandbox;
    let named = [writable, protected, hidden, readable, denied]
        .into_iter()
        .flatten()
        .chain(temporary)
        .chain(ruled)
        .map(PathBuf::as_path);
    named
        .chain(MACHINE.map(Path::new))
        .map(PathIdentity::of)
        .collect()
}

/// Tells whether something was mounted or unmounted on this machine since it was made.
#[derive(Debug)]
struct MountWatch(File);

impl MountWatch {
    fn start() -> io::Result<Self> {
        File::open("/proc/self/mountinfo").map(Self)
    }

    /// Once it has said no it may say yes again.
    fn is_unchanged(&self) -> bool {
        let mut watched = [PollFd::new(&self.0, PollFlags::PRI)];
        let at_once = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        let is_asked = poll(&mut watched, Some(&at_once)).is_ok();
        let [watched] = watched;
        let changes = PollFlags::PRI | PollFlags::ERR;
        is_asked && !watched.revents().intersects(changes)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_proof_holds_until_a_path_of_the_sandbox_is_another_file() {
        let place = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(place.path()).unwrap();
        let at = |name: &str| root.join(name);
        for directory in ["work/.git/hooks", "hidden", "tmp"] {
            fs::create_dir_all(at(directory)).unwrap();
        }
        let sandbox = Arc::new(Sandbox {
            writable: vec![at("work")],
            protected: vec![at("work/.git/hooks"), at("work/.mcp.json")],
            hidden: vec![at("hidden"), at("later")],
            temporary: Some(at("tmp")),
            ..Sandbox::default()
        });
        let changes: [(&str, &dyn Fn()); 6] = [
            ("nothing", &|| ()),
            ("an ordinary file", &|| fs::write(at("work/a"), "").unwrap()),
            ("a protected file appears", &|| {
                fs::write(at("work/.mcp.json"), "").unwrap()
            }),
            ("a hidden directory appears", &|| {
                fs::create_dir(at("later")).unwrap()
            }),
            ("a hidden directory is replaced", &|| {
                fs::rename(at("hidden"), at("aside")).unwrap();
                fs::create_dir(at("hidden")).unwrap();
            }),
            ("a pinned directory is replaced", &|| {
                fs::rename(at("work/.git"), at("work/old")).unwrap();
                fs::create_dir(at("work/.git")).unwrap();
                fs::rename(at("work/old/hooks"), at("work/.git/hooks")).unwrap();
            }),
        ];
        for (what, change) in changes {
            let proof = ForkerProof::of(&sandbox, SandboxBackend::Bubblewrap).unwrap();
            assert!(proof.is_about(&sandbox, SandboxBackend::Bubblewrap));
            assert!(!proof.is_about(&sandbox, SandboxBackend::Landlock));
            change();
            let is_harmless = ["nothing", "an ordinary file"].contains(&what);
            assert_eq!(proof.holds(), is_harmless, "{what}");
        }
    }
}

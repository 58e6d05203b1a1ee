//! Translates a sandbox into command-line arguments for bubblewrap.

use std::{
    env,
    ffi::OsString,
    os::fd::{AsRawFd, OwnedFd},
    path::{Path, PathBuf},
};

use nix::unistd::{AccessFlags, access};

use super::{
    Sandbox, SandboxNetwork,
    path_rules::{PathPermission, PathRule, path_rules},
};

/// Bytes that can be written to the places that exist only inside.
const SCRATCH_BYTES: &str = "4294967296";

/// What root could change in the kernel itself. It belongs to root outside, who may be who starts this, and
/// then not even a user of no rights is refused.
const KERNEL: [&str; 4] = ["/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus"];

/// Everything before the program: `filters` are read by bubblewrap and closed again.
pub(crate) fn arguments(sandbox: &Sandbox, cwd: &Path, filters: &[OwnedFd]) -> Vec<OsString> {
    let mut arguments = BubblewrapArgs::default();
    arguments.add([
        "--unshare-all",
        "--die-with-parent",
        "--new-session",
        "--cap-drop",
        "ALL",
    ]);
    // A real change of user would lock the program out of files that belong to the user who started it.
    arguments.add([
        "--unshare-user",
        "--uid",
        "1000",
        "--gid",
        "1000",
        "--hostname",
        "sandbox",
    ]);
    if sandbox.network == SandboxNetwork::On {
        arguments.add(["--share-net"]);
    }
    for filter in filters {
        arguments.add(["--add-seccomp-fd", &filter.as_raw_fd().to_string()]);
    }
    arguments.add(["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]);
    for place in KERNEL
        .into_iter()
        .map(Path::new)
        .filter(|place| place.exists())
    {
        arguments.bind("--ro-bind", place);
    }
    arguments.scratch(sandbox);
    let rungs = path_rules(sandbox);
    rungs.iter().for_each(|rung| arguments.rung(rung));
    arguments.links(&sandbox.readable, &rungs);
    arguments.at("--chdir", cwd);
    arguments.add(["--"]);
    arguments.0
}

/// The program, where it is looked for: never in a directory that depends on where one stands.
pub(crate) fn bubblewrap() -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    let mut places = env::split_paths(&path).filter(|place| place.is_absolute());
    let is_runnable = |file: &PathBuf| access(file, AccessFlags::X_OK).is_ok();
    places.find_map(|place| Some(place.join("bwrap")).filter(is_runnable))
}

#[derive(Default)]
struct BubblewrapArgs(Vec<OsString>);

impl BubblewrapArgs {
    fn add<'a>(&mut self, words: impl IntoIterator<Item = &'a str>) {
        self.0.extend(words.into_iter().map(OsString::from));
    }

    fn at(&mut self, word: &str, path: &Path) {
        self.0.extend([word.into(), path.into()]);
    }

    fn bind(&mut self, word: &str, path: &Path) {
        self.0.extend([word.into(), path.into(), path.into()]);
    }

    /// Places to write that are the program's own.
    fn scratch(&mut self, sandbox: &Sandbox) {
        match &sandbox.temporary {
            Some(directory) => self
                .0
                .extend(["--bind".into(), directory.into(), "/tmp".into()]),
            None => self.add(["--size", SCRATCH_BYTES, "--tmpfs", "/tmp"]),
        }
        for place in ["/var/tmp", "/run", "/dev/shm"]
            .into_iter()
            .filter(|place| Path::new(place).is_dir())
        {
            self.add(["--size", SCRATCH_BYTES, "--tmpfs", place]);
        }
        // Names are looked up with a file that may be a link to what is hidden.
        let resolver = Path::new("/etc/resolv.conf").canonicalize().ok();
        if let Some(file) = resolver
            .filter(|file| file.starts_with("/run") && sandbox.network == SandboxNetwork::On)
        {
            self.bind("--ro-bind", &file);
        }
    }

    fn rung(&mut self, rung: &PathRule) {
        let PathRule { path, hold } = rung;
        match hold {
            PathPermission::Hidden if path.is_dir() => {
                self.add(["--size", SCRATCH_BYTES]);
                self.at("--tmpfs", path);
            }
            PathPermission::Denied if path.is_dir() => {
                self.at("--tmpfs", path);
                // What is written there would be lost without a word.
                self.at("--remount-ro", path);
            }
            PathPermission::Hidden | PathPermission::Denied => {
                self.0
                    .extend(["--ro-bind".into(), "/dev/null".into(), path.into()]);
            }
            PathPermission::Readable | PathPermission::Protected => self.bind("--ro-bind", path),
            PathPermission::Writable | PathPermission::Pinned => self.bind("--bind", path),
        }
    }

    /// A directory that is reached over a link in something hidden is there under both names.
    fn links(&mut self, readable: &[PathBuf], rungs: &[PathRule]) {
        let is_gone = |path: &Path| {
            rungs
                .iter()
                .any(|rung| rung.hold == PathPermission::Hidden && path.starts_with(&rung.path))
        };
        for path in readable.iter().filter(|path| is_gone(path)) {
            let is_link = std::fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink());
            if let Some(target) = path.canonicalize().ok().filter(|_| is_link) {
                self.0
                    .extend(["--symlink".into(), target.into(), path.into()]);
            }
        }
    }
}

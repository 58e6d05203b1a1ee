//! Snapshot of what a command could leave in its namespaces for the next one: files in places that exist only inside,
//! memory and queues of its IPC namespace, and settings of the first process.
//!
//! Taken before the first command and after each: if anything differs, the sandbox is not used again.

use std::{
    collections::BTreeMap,
    fs, io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use rustix::fs::llistxattr;

/// At most so many files: more are not worth a comparison after each command.
const MOST: usize = 2_000;

/// What processes of the same IPC namespace share. A line of headings, then one for each.
const SHARED: [&str; 3] = [
    "/proc/sysvipc/shm",
    "/proc/sysvipc/sem",
    "/proc/sysvipc/msg",
];

/// What a process of the same user can change of another one, and children inherit.
const SETTINGS: [&str; 5] = [
    "/proc/self/limits",
    "/proc/self/oom_score_adj",
    "/proc/self/coredump_filter",
    "/proc/self/timerslack_ns",
    "/proc/self/autogroup",
];

/// Fields of `/proc/self/stat` after the name: priority, niceness, real-time priority, policy.
const SCHEDULING: [usize; 4] = [15, 16, 37, 38];

/// The state of the places a command could change without its changes being the session's.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ForkerTraces {
    files: BTreeMap<PathBuf, FileTrace>,
    shared: Vec<Option<String>>,
    settings: Vec<Option<String>>,
}

/// Which file it is, and what is known about it unless it is mounted from outside.
#[derive(Debug, PartialEq, Eq)]
struct FileTrace {
    identity: (u64, u64),
    details: Option<FileDetails>,
}

#[derive(Debug, PartialEq, Eq)]
struct FileDetails {
    mode: u32,
    owner: (u32, u32),
    size: u64,
    links: u64,
    changed: [(i64, i64); 2],
    attributes: usize,
}

impl ForkerTraces {
    /// The state now of everything in these places; none if it cannot be told.
    pub(super) fn of(places: &[PathBuf]) -> Option<Self> {
        let mut files = BTreeMap::new();
        for place in places {
            let device = fs::symlink_metadata(place).ok()?.dev();
            add(place, device, &mut files).ok()?;
        }
        let read = |path: &&str| fs::read_to_string(path).ok();
        let mut settings: Vec<Option<String>> = SETTINGS.iter().map(read).collect();
        settings.push(scheduling());
        settings.push(processors());
        Some(Self {
            files,
            shared: SHARED.iter().map(read).collect(),
            settings,
        })
    }
}

/// Adds a file and what is below it, as far as it is on this device: the rest is mounted from elsewhere.
fn add(path: &Path, device: u64, files: &mut BTreeMap<PathBuf, FileTrace>) -> io::Result<()> {
    let found = fs::symlink_metadata(path)?;
    let is_own = found.dev() == device;
    let details = || FileDetails {
        mode: found.mode(),
        owner: (found.uid(), found.gid()),
        size: found.size(),
        links: found.nlink(),
        changed: [
            (found.mtime(), found.mtime_nsec()),
            (found.ctime(), found.ctime_nsec()),
        ],
        attributes: llistxattr(path, &mut [0_u8; 0]).unwrap_or(0),
    };
    let trace = FileTrace {
        identity: (found.dev(), found.ino()),
        details: is_own.then(details),
    };
    files.insert(path.to_owned(), trace);
    if files.len() > MOST {
        return Err(io::ErrorKind::QuotaExceeded.into());
    }
    if is_own && found.is_dir() {
        for entry in fs::read_dir(path)? {
            add(&entry?.path(), device, files)?;
        }
    }
    Ok(())
}

fn scheduling() -> Option<String> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    let (_, fields) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = fields.split_whitespace().collect();
    let wanted = SCHEDULING.iter().map(|at| fields.get(*at).copied());
    Some(wanted.collect::<Option<Vec<&str>>>()?.join(" "))
}

/// The processors this process may run on.
fn processors() -> Option<String> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find(|line| line.starts_with("Cpus_allowed:"));
    line.map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn whatever_changes_in_a_place_is_noticed() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().join("place");
        let places = [root.clone()];
        let begin = || {
            let _ = fs::remove_dir_all(&root);
            fs::create_dir_all(root.join("inner")).unwrap();
            fs::write(root.join("inner/file"), "a").unwrap();
        };
        type Change = fn(&Path);
        let changes: [(&str, Change); 5] = [
            ("nothing", |_| ()),
            ("a new file", |root| {
                fs::write(root.join("new"), "").unwrap()
            }),
            ("a new file below", |root| {
                fs::write(root.join("inner/.new"), "").unwrap()
            }),
            ("a file less", |root| {
                fs::remove_file(root.join("inner/file")).unwrap()
            }),
            ("other rights", |root| {
                let rights = fs::Permissions::from_mode(0o711);
                fs::set_permissions(root.join("inner"), rights).unwrap()
            }),
        ];
        for (what, change) in changes {
            begin();
            let before = ForkerTraces::of(&places).unwrap();
            change(&root);
            let is_same = before == ForkerTraces::of(&places).unwrap();
            assert_eq!(is_same, what == "nothing", "{what}");
        }
        assert!(ForkerTraces::of(&[root.join("missing")]).is_none());
    }
}

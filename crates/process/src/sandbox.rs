//! The sandbox of a program as plain data (paths, network, limits), and the backends that enforce it.
//!
//! Bubblewrap is preferred: own namespaces, everything read-only, hidden paths absent. The fallback is a helper of
//! ours that confines itself with Landlock and a system call filter (seccomp) and then becomes the program. Where
//! neither works, the program is not started: a caller that asks for a sandbox gets one or
//! [`Error::Unconfined`](crate::Error::Unconfined).

mod backend;
mod bubblewrap;
mod default_profile;
mod forker;
mod gate;
mod git;
mod git_config;
mod git_named_files;
mod guard;
mod helper_args;
mod helper_entry;
mod landlock;
mod landlock_cache;
mod landlock_scope;
mod nested_repositories;
mod path_identity;
mod path_rules;
mod private_paths;
mod repository;
mod seccomp;

use std::path::PathBuf;

pub use backend::SandboxBackend;
pub use default_profile::MachinePaths;
pub use gate::{GateReceiver, SandboxGate, gate};
pub use git::GitGuard;
pub use helper_entry::{enter_if_asked, use_helper};
pub use nested_repositories::repositories_below;
pub use private_paths::{home, private_in_homes, private_places};

pub(crate) use backend::SeccompProfile;
pub(crate) use bubblewrap::{arguments as bubblewrap_arguments, bubblewrap};
pub(crate) use forker::{
    CommandMessage, FORKER_READY, ForkerProof, ForkerReply, ForkerRole, forker_words,
    send_with_streams,
};
pub(crate) use gate::gate_helper_prefix;
pub(crate) use git::GitSnapshot;
pub(crate) use helper_entry::{command as helper_command, program as helper, unconfined_command};
pub(crate) use landlock_scope::{
    is_possible as is_scope_possible, scope_helper_prefix as scope_entry,
};
pub(crate) use seccomp::{bpf_bytes, seccomp_program};

/// Sandbox of a program: file and network access, and limits.
///
/// Where several of the lists name a path or one above it, the longest name decides.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sandbox {
    /// Writable paths, with everything below.
    pub writable: Vec<PathBuf>,
    /// Read-only paths inside writable ones.
    pub protected: Vec<PathBuf>,
    /// Hidden paths: they do not exist for the program.
    pub hidden: Vec<PathBuf>,
    /// Readable paths inside hidden ones.
    pub readable: Vec<PathBuf>,
    /// Paths it may neither read nor write, with everything below; overrides the other lists.
    pub denied: Vec<PathBuf>,
    /// Its `/tmp` directory; none: an empty one of its own.
    pub temporary: Option<PathBuf>,
    /// Network access.
    pub network: SandboxNetwork,
    /// The proxy that answers for it where it has no network; none: no proxy. Needs bubblewrap and a helper.
    pub gate: Option<SandboxGate>,
    /// Resource limits.
    pub limits: SandboxLimits,
    /// The variables it inherits; `*` at the end stands for any ending.
    pub environment: Vec<String>,
    /// Repositories that are checked after the program has ended, so that git runs nothing it has planted there.
    pub git: GitGuard,
    /// Sandbox backend; none: the best that works here.
    pub backend: Option<SandboxBackend>,
}

/// Network access of a confined program, ordered by trust.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum SandboxNetwork {
    /// No network.
    #[default]
    Off,
    /// The network of this machine.
    On,
}

/// Resource limits of a confined program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SandboxLimits {
    /// Bytes of memory of its own, per process.
    pub memory: Option<u64>,
    /// Processes at the same time. More are noticed a moment later, and end all of them.
    pub processes: Option<usize>,
    /// Bytes of one file it writes.
    pub file_size: Option<u64>,
    /// Seconds of a processor, per process.
    pub cpu_secs: Option<u64>,
}

impl Default for SandboxLimits {
    /// Room for the builds of large programs, and none for a whole machine.
    fn default() -> Self {
        const GIB: u64 = 1024 * 1024 * 1024;
        Self {
            memory: Some(16 * GIB),
            processes: Some(4_096),
            file_size: Some(16 * GIB),
            cpu_secs: None,
        }
    }
}

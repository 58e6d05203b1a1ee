//! Sandbox for our own git commands: they may write to the repository and its working tree only.
//!
//! Settings, attributes and hooks of a repository can be the work of a command that an agent ran. What
//! they have git run, has no more rights than that command had.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use rooftree_process::{Sandbox, sandbox::SandboxNetwork};

use crate::git_dirs::common_directory;

/// What one command needs besides the directory it runs in.
#[derive(Clone, Debug, Default)]
pub(super) struct GitAccess {
    /// Directories it writes to.
    pub writable: Vec<PathBuf>,
    /// Whether it takes away what the repository knows of its places to work.
    pub removes_worktree: bool,
}

/// The sandbox for git in a directory, with files of the user's that it may read.
pub(super) fn around(directory: &Path, needs: &GitAccess, files: Vec<PathBuf>) -> Sandbox {
    let mut sandbox = Sandbox::around(directory, SandboxNetwork::Off);
    let own = || {
        directory
            .join("HEAD")
            .is_file()
            .then(|| directory.to_owned())
    };
    if let Some(common) = common_directory(directory).or_else(own) {
        sandbox.open_repository(&common);
        sandbox.readable.extend(alternates(&common));
        if needs.removes_worktree {
            let worktrees = common.join("worktrees");
            sandbox
                .protected
                .retain(|path| !path.starts_with(&worktrees));
        }
    }
    sandbox.writable.extend(needs.writable.iter().cloned());
    sandbox.readable.extend(files);
    if let Some(settings) = env::var_os("XDG_CONFIG_HOME").map(PathBuf::from) {
        sandbox
            .readable
            .extend(["ignore", "attributes"].map(|name| settings.join("git").join(name)));
        sandbox.environment.push("XDG_CONFIG_HOME".to_owned());
    }
    sandbox
}

/// Objects that a repository borrows from others, which may lie in a home. A file that a command can
/// write names them, so only what is a repository's is shown.
fn alternates(common: &Path) -> Vec<PathBuf> {
    let objects = common.join("objects");
    let named = fs::read_to_string(objects.join("info/alternates")).unwrap_or_default();
    let is_objects = |place: &PathBuf| {
        let around = place
            .parent()
            .filter(|_| place.file_name().is_some_and(|name| name == "objects"));
        around.is_some_and(|around| around.join("HEAD").is_file() && around.join("refs").is_dir())
    };
    let places = named
        .lines()
        .filter_map(|line| fs::canonicalize(objects.join(line)).ok());
    places.filter(is_objects).collect()
}

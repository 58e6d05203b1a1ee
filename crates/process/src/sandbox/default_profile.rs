//! Default sandbox profile for a working directory on this machine.
//!
//! Programs and libraries can be read, and so can toolchains installed in a home directory. The rest of home
//! directories, keys, and the files of other programs in `/run` and `/tmp` are hidden.

use std::{
    env,
    path::{Path, PathBuf},
};

use super::{
    GitGuard, Sandbox, SandboxLimits, SandboxNetwork,
    private_paths::{home, private_places},
    repository,
};
use crate::environment::PLAIN;

/// Homes.
const HOMES: &[&str] = &["/home", "/root"];

/// Tools that people install below their home.
const TOOLCHAINS: &[&str] = &[
    ".cargo",
    ".rustup",
    ".pyenv",
    ".nvm",
    ".volta",
    ".fnm",
    ".asdf",
    ".sdkman",
    ".rbenv",
    ".rvm",
    ".goenv",
    ".bun/bin",
    ".deno/bin",
    ".linuxbrew",
    ".opam",
    ".ghcup",
    ".jdks",
    ".dotnet",
    ".nix-profile",
    "miniconda3",
    ".local/bin",
    ".local/lib",
    ".local/share/uv",
    ".local/share/pipx",
    ".local/share/mise",
    ".local/share/fnm",
];

/// The user's git configuration: author identity, ignore and attribute files.
const IDENTITY: &[&str] = &[
    ".gitconfig",
    ".config/git/config",
    ".config/git/ignore",
    ".config/git/attributes",
];

/// Further variables that are passed on: locations, compiler flags, output settings, proxies.
const VARIABLES: &[&str] = &[
    "TERM",
    "COLORTERM",
    "NO_COLOR",
    "COLUMNS",
    "LINES",
    "CI",
    "DEBIAN_FRONTEND",
    "CARGO_*",
    "RUSTUP_*",
    "RUST*",
    "CC",
    "CXX",
    "CFLAGS",
    "CXXFLAGS",
    "LDFLAGS",
    "MAKEFLAGS",
    "PKG_CONFIG*",
    "LD_LIBRARY_PATH",
    "NODE_*",
    "NVM_*",
    "NPM_*",
    "PYTHON*",
    "VIRTUAL_ENV",
    "CONDA_*",
    "PYENV_*",
    "GOPATH",
    "GOROOT",
    "GOCACHE",
    "GOFLAGS",
    "JAVA_HOME",
    "DOTNET_*",
    "SSL_CERT_*",
    "SOURCE_DATE_EPOCH",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
];

/// Hidden paths of this machine, and those among them that programs need to read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MachinePaths {
    /// Home directories.
    pub homes: Vec<PathBuf>,
    /// Keys, credentials and the like, in homes and elsewhere.
    pub private: Vec<PathBuf>,
    /// Tools and settings in homes that programs need to read.
    pub readable: Vec<PathBuf>,
}

impl MachinePaths {
    /// This machine, for the user whose home this is.
    pub fn of(home: Option<&Path>) -> Self {
        let below = |names: &[&str]| -> Vec<PathBuf> {
            home.iter()
                .flat_map(|home| names.iter().map(|name| home.join(name)))
                .collect()
        };
        let homes: Vec<PathBuf> = HOMES
            .iter()
            .map(PathBuf::from)
            .chain(home.map(Path::to_owned))
            .collect();
        let private = private_places(home);
        let hidden: Vec<PathBuf> = homes.iter().chain(&private).cloned().collect();
        let mut readable = below(TOOLCHAINS);
        readable.extend(below(IDENTITY));
        readable.extend(on_path(&hidden, home));
        Self {
            homes,
            private,
            readable,
        }
    }
}

impl Sandbox {
    /// The usual one: the directory is writable, and its repository but for hooks and settings. What
    /// is private to the caller it still has to hide.
    pub fn around(workspace: &Path, network: SandboxNetwork) -> Self {
        let home = home();
        let repository = repository::around(workspace, home.as_deref());
        let MachinePaths {
            homes,
            private,
            readable,
        } = MachinePaths::of(home.as_deref());
        let hidden: Vec<PathBuf> = homes.into_iter().chain(private).collect();
        let git = GitGuard {
            workspaces: vec![workspace.to_owned()],
            directories: repository.writable.clone(),
            ..GitGuard::default()
        };
        let mut writable = vec![workspace.to_owned()];
        writable.extend(repository.writable);
        // A path hidden inside the workspace stays hidden even if another list names it.
        let is_hidden = |path: &PathBuf| {
            hidden.iter().any(|hidden| {
                hidden.starts_with(workspace) && hidden != workspace && path.starts_with(hidden)
            })
        };
        let protected = repository
            .protected
            .into_iter()
            .filter(|path| !is_hidden(path))
            .collect();
        Self {
            writable,
            protected,
            hidden,
            readable,
            denied: Vec::new(),
            temporary: None,
            network,
            gate: None,
            limits: SandboxLimits::default(),
            environment: PLAIN
                .iter()
                .chain(VARIABLES)
                .map(|name| (*name).to_owned())
                .collect(),
            git,
            backend: None,
        }
    }
}

/// Directories of programs in what is hidden. What they need is often beside them: in the directory above `bin`.
fn on_path(hidden: &[PathBuf], home: Option<&Path>) -> Vec<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let is_hidden = |place: &PathBuf| hidden.iter().any(|hidden| place.starts_with(hidden));
    let places = env::split_paths(&path)
        .filter(|place| place.is_absolute())
        .filter(is_hidden);
    places.map(|place| installation(&place, home)).collect()
}

/// The directory above `bin`, unless that is a home or holds more than one thing.
fn installation(place: &Path, home: Option<&Path>) -> PathBuf {
    let is_bin = place.file_name().is_some_and(|name| name == "bin");
    let above = place.parent().filter(|_| is_bin);
    let is_shared = |above: &&Path| {
        let is_home = Some(*above) == home
            || above
                .parent()
                .is_some_and(|parent| parent == Path::new("/home"));
        !is_home
            && *above != Path::new("/root")
            && above.file_name().is_some_and(|name| name != ".local")
    };
    above.filter(is_shared).unwrap_or(place).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_belongs_to_a_tool_is_found_and_a_home_is_not_taken_for_one() {
        let home = Some(Path::new("/srv/ada"));
        for (place, wanted) in [
            ("/srv/ada/.cargo/bin", "/srv/ada/.cargo"),
            (
                "/srv/ada/.nvm/versions/node/v22/bin",
                "/srv/ada/.nvm/versions/node/v22",
            ),
            ("/srv/ada/bin", "/srv/ada/bin"),
            ("/srv/ada/.local/bin", "/srv/ada/.local/bin"),
            ("/home/bob/bin", "/home/bob/bin"),
            ("/root/bin", "/root/bin"),
            ("/srv/ada/tools", "/srv/ada/tools"),
        ] {
            assert_eq!(
                installation(Path::new(place), home),
                Path::new(wanted),
                "{place}"
            );
        }
    }
}

//! Sandbox of a server's program: around the directory it runs in, with an empty home of its own.
//!
//! It can reach the network, because most servers are there to reach something. What it is started
//! from can be read although it lies in a home; keys and our own directories never can.

use std::{
    env,
    path::{Path, PathBuf},
};

use rooftree_process::Sandbox;
use rooftree_protocol::{Confinement, McpServer, Network, SandboxMode};

use crate::SandboxConfig;

/// Sandbox mode of a server's program. `off` for this one server overrides the general mode, since only the user can
/// set it; otherwise the stricter of the two applies.
pub(super) fn mode(confining: &SandboxConfig, server: &McpServer) -> SandboxMode {
    match server.sandbox {
        Some(SandboxMode::Off) => SandboxMode::Off,
        Some(own) => own.max(confining.confinement.mode),
        None => confining.confinement.mode,
    }
}

/// Network access of a server's program where it is confined.
pub(super) fn network(server: &McpServer) -> Network {
    server.network.clone().unwrap_or(Network::On)
}

/// The sandbox for a settled server's program; none if it is not to be confined.
pub(super) fn sandbox(confining: &SandboxConfig, server: &McpServer) -> Option<Sandbox> {
    let cwd = server.cwd.as_deref()?;
    let confinement = Confinement {
        mode: mode(confining, server),
        network: network(server),
        ..confining.confinement.clone()
    };
    let mut sandbox = SandboxConfig {
        confinement,
        ..confining.clone()
    }
    .standalone_sandbox(cwd)?;
    let homes: Vec<PathBuf> = env::var_os("HOME")
        .map(PathBuf::from)
        .into_iter()
        .chain(["/home".into(), "/root".into()])
        .map(real)
        .collect();
    let kept: Vec<PathBuf> = sandbox
        .hidden
        .iter()
        .cloned()
        .map(real)
        .filter(|hidden| !homes.contains(hidden))
        .collect();
    let is_shown = |place: &PathBuf| {
        let is_home = homes.iter().any(|home| home.starts_with(place));
        !is_home && !kept.iter().any(|kept| place.starts_with(kept))
    };
    let owned = server.writable.iter().map(|place| real(cwd.join(place)));
    sandbox.writable.extend(owned.filter(is_shown));
    // What lies in something it may change can be read already, and stays as it is.
    let changed: Vec<PathBuf> = sandbox.writable.iter().cloned().map(real).collect();
    let is_new = |place: &PathBuf| !changed.iter().any(|changed| place.starts_with(changed));
    let named = started_from(server)
        .into_iter()
        .filter(is_shown)
        .filter(is_new);
    sandbox.readable.extend(named);
    Some(sandbox)
}

/// The directories that its command line names, and those of the files it names or that they are links to.
///
/// Invariant: they are named as they really are. A link must not show what is hidden.
fn started_from(server: &McpServer) -> Vec<PathBuf> {
    let words = server.command.iter().chain(&server.args).map(Path::new);
    let (files, rest): (Vec<&Path>, Vec<&Path>) = words
        .filter(|word| word.is_absolute())
        .partition(|word| word.is_file());
    let directories = rest
        .into_iter()
        .filter(|word| word.is_dir())
        .map(|word| real(word.to_owned()));
    let files = files.into_iter();
    let places = files.flat_map(|file| {
        let around = file.parent().map(|place| real(place.to_owned()));
        around
            .into_iter()
            .chain(real(file.to_owned()).parent().map(Path::to_owned))
    });
    places.map(installation).chain(directories).collect()
}

/// What a program needs that lies in this directory: all packages beside its own, its whole environment.
fn installation(place: PathBuf) -> PathBuf {
    let is_packages = |place: &&Path| place.file_name().is_some_and(|name| name == "node_modules");
    let packages = place.ancestors().filter(is_packages).last();
    let environment = || {
        place
            .parent()
            .filter(|above| above.join("pyvenv.cfg").is_file())
    };
    packages
        .or_else(environment)
        .map_or_else(|| place.clone(), Path::to_owned)
}

fn real(path: PathBuf) -> PathBuf {
    path.canonicalize().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(change: impl FnOnce(&mut McpServer)) -> McpServer {
        let mut server = McpServer {
            command: Some("x".into()),
            cwd: Some("/srv".into()),
            ..McpServer::default()
        };
        change(&mut server);
        server
    }

    #[test]
    fn what_is_said_about_one_server_goes_first() {
        use SandboxMode::{Auto, Off, Required};
        for (general, own, mode) in [
            (Auto, None, Auto),
            (Required, None, Required),
            (Required, Some(Auto), Required),
            (Required, Some(Off), Off),
            (Off, Some(Required), Required),
            (Off, None, Off),
        ] {
            let confinement = Confinement {
                mode: general,
                network: Network::Off,
                ..Confinement::default()
            };
            let confining = SandboxConfig {
                confinement,
                ..SandboxConfig::default()
            };
            let server = server(|server| server.sandbox = own);
            assert_eq!(
                super::mode(&confining, &server),
                mode,
                "{general:?} {own:?}"
            );
            let sandbox = sandbox(&confining, &server);
            assert_eq!(sandbox.is_some(), mode != Off);
            let network = sandbox.map(|sandbox| sandbox.network);
            assert!(
                network
                    .is_none_or(|network| network == rooftree_process::sandbox::SandboxNetwork::On)
            );
        }
    }

    #[test]
    fn what_a_server_is_started_from_can_be_read_and_what_is_ours_cannot() {
        let place = tempfile::tempdir().unwrap();
        for name in ["own", "elsewhere"] {
            std::fs::create_dir(place.path().join(name)).unwrap();
            std::fs::write(place.path().join(name).join("main.js"), "").unwrap();
        }
        std::os::unix::fs::symlink(place.path().join("own"), place.path().join("link")).unwrap();
        let confining = SandboxConfig {
            private: [place.path().join("own")].into(),
            ..SandboxConfig::default()
        };
        let server = server(|server| {
            let files =
                ["own", "link", "elsewhere"].map(|name| place.path().join(name).join("main.js"));
            server.args = files.map(|file| file.display().to_string()).to_vec();
        });
        let sandbox = sandbox(&confining, &server).unwrap();
        for (within, whole) in [
            ("a/node_modules/b/node_modules/c/dist", "a/node_modules"),
            ("a/node_modules/.bin", "a/node_modules"),
            ("a/src", "a/src"),
        ] {
            assert_eq!(installation(within.into()), Path::new(whole));
        }
        let inside = McpServer {
            cwd: Some(place.path().to_owned()),
            args: vec![place.path().join("elsewhere/main.js").display().to_string()],
            ..server.clone()
        };
        let own = super::sandbox(&confining, &inside).unwrap();
        assert!(
            !own.readable.contains(&real(place.path().join("elsewhere"))),
            "it may be changed"
        );
        let shown = |name: &str| {
            sandbox
                .readable
                .contains(&real(place.path().to_owned()).join(name))
        };
        assert_eq!(
            ["elsewhere", "own", "link"].map(shown),
            [true, false, false]
        );
        let greedy = McpServer {
            args: vec!["/".into(), "/root".into(), "/home".into()],
            ..server
        };
        let greedy = McpServer {
            writable: vec!["/".into(), "/root".into()],
            ..greedy
        };
        let sandbox = super::sandbox(&confining, &greedy).unwrap();
        for whole in ["/", "/root", "/home"].map(|place| real(place.into())) {
            assert!(
                !sandbox.readable.contains(&whole) && !sandbox.writable.contains(&whole),
                "{whole:?}"
            );
        }
    }
}

//! Package runners such as `npx` that download what they run, and the error message when they cannot.

use std::path::Path;

use rooftree_protocol::{McpServer, Network, SandboxMode};

use super::{Error, server_sandbox};
use crate::SandboxConfig;

/// Programs that fetch the package they are to run, and the host it comes from.
const FETCHERS: [(&str, &str); 6] = [
    ("npx", "registry.npmjs.org"),
    ("bunx", "registry.npmjs.org"),
    ("pnpm", "registry.npmjs.org"),
    ("yarn", "registry.yarnpkg.com"),
    ("uvx", "pypi.org\", \"files.pythonhosted.org"),
    ("pipx", "pypi.org\", \"files.pythonhosted.org"),
];

/// Parts of their error messages when the network cannot be reached.
const UNREACHED: [&str; 9] = [
    "ENOTCACHED",
    "EAI_AGAIN",
    "ENOTFOUND",
    "ECONNREFUSED",
    "ENETUNREACH",
    "403 Forbidden",
    "offline",
    "dns error",
    "onnect",
];

/// The same error, or that the package could not be fetched because of what the server may reach.
pub(super) fn explained(error: Error, confining: &SandboxConfig, server: &McpServer) -> Error {
    let is_confined = server_sandbox::mode(confining, server) != SandboxMode::Off;
    let network = server_sandbox::network(server);
    if !is_confined || network == Network::On {
        return error;
    }
    let program = server
        .command
        .as_deref()
        .map(Path::new)
        .and_then(Path::file_name);
    let fetcher = FETCHERS
        .iter()
        .find(|(name, _)| program.is_some_and(|program| program == *name));
    let Some((name, host)) = fetcher else {
        return error;
    };
    let why = match &error {
        Error::Gone(words) if UNREACHED.iter().any(|sign| words.contains(sign)) => words.clone(),
        Error::NotReady(_) => error.to_string(),
        _ => return error,
    };
    let may = if network == Network::Off {
        "off"
    } else {
        "a list without its host"
    };
    Error::Unfetched(format!(
        "`{name}` could not fetch its package, because its `network` is {may}; set \"network\": \"on\", or \
         [\"{host}\"], until it has started once: the package is kept ({why})"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_may_not_be_reached_is_said_to_be_the_reason() {
        let server = |command: &str, network| McpServer {
            command: Some(command.into()),
            network,
            ..McpServer::default()
        };
        let gone = || Error::Gone("it ended, and had said: npm error code ENOTCACHED".into());
        let told = |error, server: &McpServer| {
            matches!(
                explained(error, &SandboxConfig::default(), server),
                Error::Unfetched(_)
            )
        };
        assert!(told(gone(), &server("/usr/bin/npx", Some(Network::Off))));
        assert!(told(
            gone(),
            &server("npx", Some("api.github.com".parse().unwrap()))
        ));
        assert!(told(
            Error::NotReady(std::time::Duration::ZERO),
            &server("uvx", Some(Network::Off))
        ));
        for (command, network) in [
            ("npx", None),
            ("npx", Some(Network::On)),
            ("node", Some(Network::Off)),
        ] {
            assert!(!told(gone(), &server(command, network)), "{command}");
        }
        assert!(!told(
            Error::Gone("a bug".into()),
            &server("npx", Some(Network::Off))
        ));
    }
}

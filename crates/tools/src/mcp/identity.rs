//! Identity of a server: a hash of its configuration, and the key that its tools are remembered under.

use std::path::Path;

use rooftree_protocol::McpServer;
use serde_json::json;
use sha2::{Digest, Sha256};

use super::Error;

/// How a server is reached.
pub(super) enum McpTransport<'a> {
    /// A program of this machine.
    Program,
    /// An address.
    Address(&'a str),
}

/// How a server is reached, if that can be told.
pub(super) fn reach(server: &McpServer) -> Result<McpTransport<'_>, Error> {
    let wrong = |words: &str| Err(Error::Misconfigured(words.to_owned()));
    match (&server.command, &server.url) {
        (Some(command), None) if !command.trim().is_empty() => Ok(McpTransport::Program),
        (None, Some(url)) if url.starts_with("http://") || url.starts_with("https://") => {
            Ok(McpTransport::Address(url))
        }
        (Some(_), Some(_)) => wrong("it has both a `command` and a `url`; leave one out"),
        (None, Some(_)) => wrong("its `url` does not begin with http:// or https://"),
        _ => wrong("it has no `command` and no `url`"),
    }
}

/// The configuration with everything filled in that decides what is started.
pub(super) fn resolve_config(server: &McpServer, directory: &Path) -> McpServer {
    let cwd = server
        .cwd
        .as_ref()
        .map_or_else(|| directory.to_owned(), |own| directory.join(own));
    McpServer {
        cwd: server.command.is_some().then_some(cwd),
        ..server.clone()
    }
}

/// Hash of a resolved configuration: agents with the same hash share the connection.
pub(super) fn fingerprint(server: &McpServer) -> String {
    let McpServer {
        command,
        args,
        env,
        cwd,
        url,
        headers,
        sandbox,
        network,
        writable,
        ..
    } = server;
    digest(
        &json!([
            command, args, env, cwd, url, headers, sandbox, network, writable
        ])
        .to_string(),
    )
}

/// What a server's tools are remembered under. Secrets change and are no part of it.
pub(super) fn pin_key(name: &str, server: &McpServer) -> String {
    let McpServer {
        command, args, url, ..
    } = server;
    let place = digest(&json!([command, args, url]).to_string());
    format!("{name}@{}", place.get(..16).unwrap_or(&place))
}

/// The name of the directory that is the home of a server's program. Where it runs and what it may
/// reach changes nothing about what it is.
pub(super) fn home_of(name: &str, server: &McpServer) -> String {
    let fit = |letter: char| {
        if letter.is_ascii_alphanumeric() {
            letter
        } else {
            '-'
        }
    };
    let known: String = name.chars().map(fit).take(32).collect();
    let place = digest(&json!([name, server.command, server.args]).to_string());
    format!("{known}-{}", place.get(..16).unwrap_or(&place))
}

/// The SHA-256 of a text, in hexadecimal digits.
pub(super) fn digest(text: &str) -> String {
    Sha256::digest(text.as_bytes())
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_decides_what_is_started_makes_another_server() {
        let server = |change: fn(&mut McpServer)| {
            let mut server = McpServer {
                command: Some("run".into()),
                ..McpServer::default()
            };
            change(&mut server);
            fingerprint(&resolve_config(&server, Path::new("/here")))
        };
        let plain = server(|_| {});
        assert_eq!(plain, server(|server| server.timeout_secs = Some(1)));
        assert_eq!(plain, server(|server| server.cwd = Some("/here".into())));
        for other in [
            server(|server| server.command = Some("walk".into())),
            server(|server| server.args.push("x".into())),
            server(|server| drop(server.env.insert("A".into(), "1".into()))),
            server(|server| server.cwd = Some("/there".into())),
            server(|server| server.sandbox = Some(rooftree_protocol::SandboxMode::Off)),
            server(|server| server.network = Some(rooftree_protocol::Network::Off)),
        ] {
            assert_ne!(plain, other);
        }
    }
}

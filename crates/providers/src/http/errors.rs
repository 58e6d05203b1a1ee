//! Formats network errors below HTTP with their causes, and never with the URL.

use std::{
    error::Error as _,
    io,
    net::{Ipv4Addr, Ipv6Addr},
    time::Duration,
};

use reqwest::Url;

use crate::{Error, error::UnreachableServer};

/// What the resolver of the C library says if a host name does not exist, as opposed to "not now".
const NO_SUCH_NAME: [&str; 3] = [
    "Name or service not known",
    "Name does not resolve",
    "No address associated with hostname",
];

/// An error and its causes in one line. URLs are left out, because they may contain passwords.
pub(super) fn words(error: &reqwest::Error) -> String {
    let kind = match () {
        () if error.is_timeout() => "timed out",
        () if error.is_connect() => "cannot connect",
        () if error.is_builder() => "the request cannot be built",
        () if error.is_decode() || error.is_body() => "the body cannot be read",
        () => "the request failed",
    };
    let mut words = kind.to_owned();
    let mut source = error.source();
    while let Some(cause) = source {
        let text = cause.to_string();
        if !words.contains(&text) {
            words.push_str(": ");
            words.push_str(&text);
        }
        source = cause.source();
    }
    words
}

/// Error for a connection that failed or broke.
pub(super) fn network(error: &reqwest::Error) -> Error {
    match error.url() {
        // A retry would not help: a wrong URL, or a key that no header can carry.
        _ if error.is_builder() => Error::Refused(words(error)),
        Some(url) if error.is_connect() => Error::Unreachable(Box::new(unreachable(error, url))),
        _ => Error::Broken(words(error)),
    }
}

/// A connection that was not made: to where, and why.
fn unreachable(error: &reqwest::Error, url: &Url) -> UnreachableServer {
    let words = words(error);
    let is_refused = causes(error)
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|cause| cause.kind() == io::ErrorKind::ConnectionRefused);
    let is_lookup = words.contains("dns error") || words.contains("failed to lookup");
    let is_unknown = is_lookup && NO_SUCH_NAME.iter().any(|text| words.contains(text));
    let reason = match () {
        () if is_refused => "nothing listens there (connection refused)".to_owned(),
        () if is_unknown => "there is no host of this name".to_owned(),
        () if is_lookup => "its name cannot be looked up now, as without a network".to_owned(),
        () if error.is_timeout() => "the connection timed out".to_owned(),
        () => words,
    };
    let fix = if is_unknown {
        "check the base URL of the provider: rooftree config show, rooftree doctor"
    } else {
        "check the network of this machine, its proxy variables, and the base URL of the provider"
    };
    UnreachableServer {
        address: address(url),
        reason,
        is_final: is_unknown || (is_refused && is_loopback(url)),
        fix: fix.into(),
    }
}

/// Scheme, host and port: a URL may also hold a password.
fn address(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    match url.port() {
        Some(port) => format!("{}://{host}:{port}", url.scheme()),
        None => format!("{}://{host}", url.scheme()),
    }
}

/// Whether a URL is on this machine.
pub(super) fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost"
        || bare.parse::<Ipv4Addr>().is_ok_and(|ip| ip.is_loopback())
        || bare.parse::<Ipv6Addr>().is_ok_and(|ip| ip.is_loopback())
}

fn causes(error: &reqwest::Error) -> impl Iterator<Item = &(dyn std::error::Error + 'static)> {
    std::iter::successors(error.source(), |&cause| cause.source())
}

/// Error for an expired timeout.
pub(super) fn timeout_error(what: &str, waited: Duration) -> Error {
    Error::Broken(format!("{what} within {:.0} s", waited.as_secs_f64()))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use reqwest::dns::{Name, Resolve, Resolving};

    use super::*;

    /// A resolver that fails as the C library does.
    struct FailingResolver(&'static str);

    impl Resolve for FailingResolver {
        fn resolve(&self, _name: Name) -> Resolving {
            let words = format!("failed to lookup address information: {}", self.0);
            Box::pin(async move { Err(io::Error::other(words).into()) })
        }
    }

    async fn asked(resolver: FailingResolver, url: &str) -> Error {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder()
            .no_proxy()
            .dns_resolver(Arc::new(resolver))
            .build()
            .unwrap();
        network(&client.get(url).send().await.unwrap_err())
    }

    #[tokio::test]
    async fn n_5_a_name_that_cannot_be_resolved_is_named_and_only_a_wrong_one_is_final() {
        let url = "https://user:word@api.example.test/v1/messages";
        for (words, is_final) in [
            ("Name or service not known", true),
            ("Temporary failure in name resolution", false),
        ] {
            let error = asked(FailingResolver(words), url).await;
            assert!(
                error
                    .to_string()
                    .starts_with("cannot reach https://api.example.test: "),
                "{error}"
            );
            assert!(!error.to_string().contains("word@"), "{error}");
            assert_eq!(error.is_retryable(), !is_final, "{words}");
            assert!(error.problem().fix.is_some());
        }
    }

    #[tokio::test]
    async fn n_5_a_refused_connection_on_this_machine_is_final() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        drop(listener);
        let error = asked(FailingResolver(""), &format!("http://{address}/v1")).await;
        assert!(!error.is_retryable(), "{error}");
        assert!(
            error
                .to_string()
                .contains(&format!("cannot reach http://{address}: nothing listens")),
            "{error}"
        );
    }
}

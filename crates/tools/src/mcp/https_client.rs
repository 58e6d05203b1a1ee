//! Builds the HTTPS client for remote MCP servers.

use std::time::Duration;

use super::Error;

/// How long a connection may take to come about.
const CONNECTING: Duration = Duration::from_secs(15);

/// Does not follow to another place: what is sent along is for this one.
pub(super) fn client() -> Result<reqwest::Client, Error> {
    // Fails if a default provider is already installed, which is fine.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::builder()
        .connect_timeout(CONNECTING)
        .pool_max_idle_per_host(0)
        .redirect(reqwest::redirect::Policy::none())
        .build();
    client.map_err(|error| Error::Unreachable(error.to_string()))
}

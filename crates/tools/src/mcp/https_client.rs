//! The client that reaches servers elsewhere, whatever is asked of them.

use std::time::Duration;

use super::Error;

/// How long a connection may take to come about.
const CONNECTING: Duration = Duration::from_secs(15);

/// Does not follow to another place: what is sent along is for this one.
pub(super) fn client() -> Result<reqwest::Client, Error> {
    // Somebody may have chosen one already, which is fine.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::builder()
        .connect_timeout(CONNECTING)
        .pool_max_idle_per_host(0)
        .redirect(reqwest::redirect::Policy::none())
        .build();
    client.map_err(|error| Error::Unreachable(error.to_string()))
}

//! HTTP client of all providers: one connection pool and timeouts.
//!
//! A provider builds an [`HttpPost`] and an `EventDecoder`; `event_stream` does the rest. It is vendor-neutral.

mod connection_pools;
pub(crate) mod error_response;
mod errors;
pub(crate) mod event_stream;
pub(crate) mod full_response;
mod post;
mod retry_after;
mod secret;

use std::time::Duration;

use rooftree_protocol::{ErrorCode, Problem};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::Error;

use connection_pools::ConnectionPools;

pub use post::HttpPost;
pub use secret::Secret;

/// Timeouts. One that expires is an [`crate::Error::Broken`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HttpTimeouts {
    /// For connecting. Fixed when the client is created, because its pool opens connections.
    pub connect: Duration,
    /// From the request to the first event of the answer.
    pub first_byte: Duration,
    /// From one event to the next. Pings do not count: they keep bytes flowing in a stream that hangs.
    pub between_events: Duration,
    /// From the request to the end of the answer.
    pub total: Duration,
}

impl Default for HttpTimeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(30),
            first_byte: Duration::from_secs(300),
            between_events: Duration::from_secs(300),
            total: Duration::from_secs(3600),
        }
    }
}

/// Sends POST requests. Clones share one connection pool.
#[derive(Clone, Debug)]
pub struct HttpClient {
    pools: ConnectionPools,
    timeouts: HttpTimeouts,
}

impl HttpClient {
    /// Creates a client with its own connection pool.
    pub fn new(timeouts: HttpTimeouts) -> Result<Self, Problem> {
        let pools = ConnectionPools::new(timeouts.connect).map_err(|error| {
            Problem::new(ErrorCode::InvalidConfig, "cannot set up HTTP")
                .cause(errors::words(&error))
                .fix("check the proxy variables and the certificates of this machine")
        })?;
        Ok(Self { pools, timeouts })
    }

    /// The same pool with other timeouts; the connect timeout stays.
    pub fn with_timeouts(mut self, timeouts: HttpTimeouts) -> Self {
        self.timeouts = timeouts;
        self
    }
}

/// Joins a base URL and a path, whether or not the base ends in a slash or in the path's first segment.
pub fn join(base: &str, path: &str) -> String {
    let base = base.trim().trim_end_matches('/');
    let path = path.trim_start_matches('/');
    let version = path.split('/').next().unwrap_or_default();
    let base = base
        .strip_suffix(version)
        .and_then(|base| base.strip_suffix('/'))
        .unwrap_or(base);
    format!("{base}/{path}")
}

/// The error for a missing key, with how to set it.
pub fn missing_key(provider: &str, variable: &str) -> Problem {
    Problem::new(
        ErrorCode::Unauthorized,
        format!("there is no key for `{provider}`"),
    )
    .cause(format!("{variable} is not set and none is stored"))
    .fix(format!(
        "export {variable}=…, or `rooftree auth set {provider}`"
    ))
}

impl HttpClient {
    /// GETs a URL and parses the JSON response; none on a timeout, an error status or other content.
    pub(crate) async fn get_json<T: DeserializeOwned>(
        &self,
        url: &str,
        key: &Secret,
        timeout: Duration,
    ) -> Option<T> {
        read_json(self.pools.of(url).ok()?.get(url), key, timeout).await
    }

    /// POSTs a JSON body to a URL and parses the JSON response, as [`HttpClient::get_json`] does.
    pub(crate) async fn post_json<T: DeserializeOwned>(
        &self,
        url: &str,
        body: &Value,
        (key, timeout): (&Secret, Duration),
    ) -> Option<T> {
        read_json(self.pools.of(url).ok()?.post(url).json(body), key, timeout).await
    }

    /// The status of a HEAD request.
    pub async fn head_status(&self, url: &str, timeout: Duration) -> Result<u16, Error> {
        let client = self.pools.of(url)?;
        let answer = client.head(url).timeout(timeout).send().await;
        answer
            .map(|response| response.status().as_u16())
            .map_err(|error| errors::network(&error))
    }
}

async fn read_json<T: DeserializeOwned>(
    request: reqwest::RequestBuilder,
    key: &Secret,
    timeout: Duration,
) -> Option<T> {
    let request = match key.reveal() {
        Some(key) => request.bearer_auth(key),
        None => request,
    };
    let response = request.timeout(timeout).send().await.ok()?;
    response.error_for_status().ok()?.json().await.ok()
}

/// Whether a base URL is on this machine.
pub fn is_on_this_machine(base_url: &str) -> bool {
    reqwest::Url::parse(base_url.trim()).is_ok_and(|url| errors::is_loopback(&url))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_url_may_be_written_in_many_ways() {
        let table = [
            ("https://a.test", "https://a.test/v1/messages"),
            ("https://a.test/", "https://a.test/v1/messages"),
            ("https://a.test/v1", "https://a.test/v1/messages"),
            (" https://a.test/v1/ ", "https://a.test/v1/messages"),
            ("https://a.test/proxy", "https://a.test/proxy/v1/messages"),
            ("https://a.test/dev1", "https://a.test/dev1/v1/messages"),
        ];
        for (base, url) in table {
            assert_eq!(join(base, "/v1/messages"), url, "{base}");
        }
    }

    #[test]
    fn a_client_can_be_made_twice() {
        assert!(HttpClient::new(HttpTimeouts::default()).is_ok());
        assert!(HttpClient::new(HttpTimeouts::default()).is_ok());
    }
}

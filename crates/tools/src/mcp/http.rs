//! A server elsewhere, reached by streamable HTTP.

mod guarded;

use std::{collections::HashMap, path::Path, time::Duration};

use reqwest::header::{HeaderName, HeaderValue};
use rmcp::transport::{
    StreamableHttpClientTransport, streamable_http_client::StreamableHttpClientTransportConfig,
};
use rooftree_protocol::McpServer;

use self::guarded::Guarded;
use super::{Error, bounded::FRAME};

/// How long a connection may take to come about.
const CONNECTING: Duration = Duration::from_secs(15);

/// The way to a server.
pub(super) async fn transport(
    server: &McpServer,
    url: &str,
    _tokens: Option<&Path>,
) -> Result<StreamableHttpClientTransport<Guarded>, Error> {
    let config = StreamableHttpClientTransportConfig::with_uri(url)
        .custom_headers(headers(server)?)
        .max_sse_event_size(FRAME);
    Ok(StreamableHttpClientTransport::with_client(Guarded(client()?), config))
}

/// Headers as they are sent. What is wrong with one is told without repeating it.
fn headers(server: &McpServer) -> Result<HashMap<HeaderName, HeaderValue>, Error> {
    let one = |(name, value): (&String, &String)| {
        let wrong = || Error::Misconfigured(format!("its header `{name}` cannot be sent"));
        let mut value = HeaderValue::from_str(value).map_err(|_| wrong())?;
        value.set_sensitive(true);
        Ok((HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong())?, value))
    };
    server.headers.iter().map(one).collect()
}

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

//! Streamable HTTP transport to a remote server.

mod bounded_client;

use std::{collections::HashMap, path::Path};

use reqwest::header::{HeaderName, HeaderValue};
use rmcp::transport::{
    AuthClient, StreamableHttpClientTransport,
    streamable_http_client::StreamableHttpClientTransportConfig,
};
use rooftree_protocol::McpServer;

use self::bounded_client::BoundedHttpClient;
pub(super) use self::bounded_client::fuzzed;
use super::{Error, bounded_reader::FRAME, https_client::client, tokens};

/// The way to a server: with what the person got by logging in, or with what its configuration says.
pub(super) enum McpHttpTransport {
    Plain(StreamableHttpClientTransport<BoundedHttpClient>),
    LoggedIn(StreamableHttpClientTransport<AuthClient<BoundedHttpClient>>),
}

/// The way to a server.
pub(super) async fn http_transport(
    server: &McpServer,
    url: &str,
    tokens: Option<&Path>,
) -> Result<McpHttpTransport, Error> {
    let config = StreamableHttpClientTransportConfig::with_uri(url)
        .custom_headers(headers(server)?)
        .max_sse_event_size(FRAME);
    let client = BoundedHttpClient(client()?);
    let says_who = server
        .headers
        .keys()
        .any(|name| name.eq_ignore_ascii_case("authorization"));
    let known = match tokens.filter(|_| !says_who) {
        Some(file) => tokens::known(url, file).await?,
        None => None,
    };
    Ok(match known {
        Some(manager) => McpHttpTransport::LoggedIn(StreamableHttpClientTransport::with_client(
            AuthClient::new(client, manager),
            config,
        )),
        None => McpHttpTransport::Plain(StreamableHttpClientTransport::with_client(client, config)),
    })
}

/// Headers as they are sent. What is wrong with one is told without repeating it.
fn headers(server: &McpServer) -> Result<HashMap<HeaderName, HeaderValue>, Error> {
    let one = |(name, value): (&String, &String)| {
        let wrong = || Error::Misconfigured(format!("its header `{name}` cannot be sent"));
        let mut value = HeaderValue::from_str(value).map_err(|_| wrong())?;
        value.set_sensitive(true);
        Ok((
            HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong())?,
            value,
        ))
    };
    server.headers.iter().map(one).collect()
}

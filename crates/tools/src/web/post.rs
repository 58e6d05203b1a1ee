//! Sends JSON with HTTP POST through the network guard, for callers that are not tools.

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;

use super::{
    PrivateHost, WebConfig, body,
    exchange::{self, WebRequest},
    guard::{NetworkGuard, WebError},
    target::UrlTarget,
};

/// A POST request with JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonPost {
    /// The URL.
    pub url: String,
    /// Headers besides the usual ones.
    pub headers: Vec<(String, String)>,
    /// The JSON body.
    pub body: Value,
}

/// The response. Redirects are not followed, but returned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PostResponse {
    /// The status.
    pub status: u16,
    /// The body.
    pub text: String,
}

/// Sends it to an address that was judged, and to no other.
pub async fn post(web: &WebConfig, post: JsonPost) -> Result<PostResponse, WebError> {
    let mut headers = HeaderMap::new();
    for (name, value) in &post.headers {
        let wrong = |_| WebError::malformed(format!("`{name}` cannot be sent as a header."));
        let key = HeaderName::try_from(name).map_err(|_| wrong(()))?;
        let mut value = HeaderValue::try_from(value).map_err(|_| wrong(()))?;
        value.set_sensitive(true);
        headers.insert(key, value);
    }
    let admitted = NetworkGuard::new(web).admit(&post.url).await?;
    let response = exchange::send(
        &admitted,
        WebRequest {
            headers,
            body: Some(post.body),
        },
    )
    .await?;
    let status = response.status().as_u16();
    let bytes = body::read(response, &web.bounds).await?;
    Ok(PostResponse {
        status,
        text: String::from_utf8_lossy(&bytes).into_owned(),
    })
}

/// The exception that allows a loopback URL; none if the URL leads to another machine.
pub fn loopback(url: &str) -> Option<PrivateHost> {
    let target = UrlTarget::parse(url).ok()?;
    let address: Option<std::net::IpAddr> = target.host().trim_matches(['[', ']']).parse().ok();
    let is_here =
        target.host() == "localhost" || address.is_some_and(|address| address.is_loopback());
    format!("{}:{}", target.host(), target.port())
        .parse()
        .ok()
        .filter(|_| is_here)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_stays_on_this_machine_is_there() {
        for url in [
            "http://localhost:9/x",
            "http://127.0.0.1:80",
            "http://[::1]:9/",
        ] {
            assert!(loopback(url).is_some(), "{url}");
        }
        for url in [
            "http://localhost.example:9",
            "http://10.0.0.1",
            "https://example.com",
            "nonsense",
            "http://0.0.0.0",
        ] {
            assert!(loopback(url).is_none(), "{url}");
        }
    }
}

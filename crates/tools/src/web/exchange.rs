//! Sends one HTTP request to a checked address only, and reads the head of its response.
//!
//! Every exchange has a client of its own: only there can addresses be fixed, and a connection that was checked for
//! one request is never reused for another.

use std::{error::Error, net::SocketAddr, sync::Arc};

use reqwest::{
    Client, Method, Response,
    dns::{Addrs, Name, Resolve, Resolving},
    header::{ACCEPT_ENCODING, HeaderMap, HeaderValue},
    redirect::Policy,
};
use serde_json::Value;

use super::{
    guard::{AdmittedUrl, WebError},
    target::UrlHost,
};

/// An HTTP request.
#[derive(Default)]
pub(crate) struct WebRequest {
    pub headers: HeaderMap,
    /// With a body it is a POST.
    pub body: Option<Value>,
}

/// Sends it. Follows no redirects, decompresses nothing, uses no proxy.
pub(crate) async fn send(
    admitted: &AdmittedUrl,
    question: WebRequest,
) -> Result<Response, WebError> {
    let host = admitted.host();
    let client = client(admitted).map_err(|error| {
        WebError::failed(format!("HTTP cannot be set up here: {}.", words(&error)))
    })?;
    let method = if question.body.is_some() {
        Method::POST
    } else {
        Method::GET
    };
    let request = client
        .request(method, admitted.target.url().clone())
        .headers(question.headers)
        .header(ACCEPT_ENCODING, HeaderValue::from_static("gzip"));
    let request = match &question.body {
        Some(body) => request.json(body),
        None => request,
    };
    request.send().await.map_err(|error| {
        WebError::failed(format!(
            "{host} did not answer: {}.",
            words(&error.without_url())
        ))
    })
}

/// Why something failed, with what lies beneath it.
pub(crate) fn words(error: &dyn Error) -> String {
    let mut words = error.to_string();
    let mut beneath = error.source();
    while let Some(error) = beneath {
        let more = error.to_string();
        if !words.contains(&more) {
            words = format!("{words}: {more}");
        }
        beneath = error.source();
    }
    words
}

fn client(admitted: &AdmittedUrl) -> Result<Client, reqwest::Error> {
    // Fails if a default provider is already installed, which is fine.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let addresses: Arc<[SocketAddr]> = match admitted.target.place() {
        UrlHost::Name(_) => admitted.addresses.as_slice().into(),
        // The connector takes an address as it stands in the URL, which is the one that was judged.
        UrlHost::Address(_) => Arc::new([]),
    };
    Client::builder()
        .user_agent(concat!("rooftree/", env!("CARGO_PKG_VERSION")))
        // A proxy would resolve the name again, and reach what this machine's guard refuses.
        .no_proxy()
        .redirect(Policy::none())
        .no_gzip()
        .referer(false)
        .tcp_nodelay(true)
        .dns_resolver(PinnedResolver {
            name: admitted.host().to_owned(),
            addresses,
        })
        .build()
}

/// Knows the addresses of one name and of no other.
struct PinnedResolver {
    name: String,
    addresses: Arc<[SocketAddr]>,
}

impl Resolve for PinnedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let addresses = self.addresses.to_vec();
        let is_known = name.as_str() == self.name && !addresses.is_empty();
        Box::pin(async move {
            if is_known {
                Ok(Box::new(addresses.into_iter()) as Addrs)
            } else {
                Err("this name was not checked".into())
            }
        })
    }
}

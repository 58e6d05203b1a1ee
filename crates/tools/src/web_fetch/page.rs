//! A fetched page: its bytes, media type and charset, and the validators to revalidate it.

use std::{sync::Arc, time::Instant};

use reqwest::{
    Response, StatusCode,
    header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, HeaderMap, HeaderName, LAST_MODIFIED},
};

/// An answer, read to its end.
#[derive(Clone, Debug)]
pub(super) struct WebPage {
    /// Its URL after redirects.
    pub url: String,
    pub status: StatusCode,
    /// Media type from the server, in lower case; empty if absent.
    pub media_type: String,
    /// The charset that stands beside the type.
    pub charset: Option<String>,
    pub bytes: Arc<[u8]>,
    /// When it was last fetched or revalidated.
    pub seen: Instant,
    pub validators: CacheValidators,
    /// Whether it may be cached.
    pub may_be_kept: bool,
}

/// Cache validators: ETag and Last-Modified.
#[derive(Clone, Debug, Default)]
pub(super) struct CacheValidators {
    pub etag: Option<String>,
    pub modified: Option<String>,
}

/// The head of an answer, before its body is read.
pub(super) struct ResponseHead {
    status: StatusCode,
    headers: HeaderMap,
}

impl ResponseHead {
    pub fn of(response: &Response) -> Self {
        Self {
            status: response.status(),
            headers: response.headers().clone(),
        }
    }

    pub fn page(self, url: String, bytes: Vec<u8>) -> WebPage {
        let kind = self
            .text(CONTENT_TYPE)
            .unwrap_or_default()
            .to_ascii_lowercase();
        let (media_type, parameters) = kind.split_once(';').unwrap_or((&kind, ""));
        let keeping = self
            .text(CACHE_CONTROL)
            .unwrap_or_default()
            .to_ascii_lowercase();
        WebPage {
            url,
            media_type: media_type.trim().to_owned(),
            charset: charset(parameters),
            bytes: bytes.into(),
            seen: Instant::now(),
            validators: CacheValidators {
                etag: self.text(ETAG),
                modified: self.text(LAST_MODIFIED),
            },
            may_be_kept: self.status == StatusCode::OK && !keeping.contains("no-store"),
            status: self.status,
        }
    }

    fn text(&self, name: HeaderName) -> Option<String> {
        Some(self.headers.get(name)?.to_str().ok()?.to_owned())
    }
}

fn charset(parameters: &str) -> Option<String> {
    let named = parameters
        .split(';')
        .find_map(|parameter| parameter.trim().strip_prefix("charset="))?;
    Some(named.trim_matches(['"', '\'', ' ']).to_owned())
}

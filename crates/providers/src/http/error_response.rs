//! An answer that is no stream: its status, headers and body, and what the status alone means.

use std::time::{Duration, SystemTime};

use reqwest::{Response, header::HeaderMap};
use serde::de::DeserializeOwned;

use super::retry_after;
use crate::Error;

/// Bytes of an error body that are read; no vendor says more of use.
const BODY_BYTES: usize = 64 * 1024;

/// Characters of a vendor's sentence that are kept.
const SENTENCE: usize = 600;

/// A server's no.
#[derive(Clone, Debug, Default)]
pub struct ErrorResponse {
    /// The status; 200 when the error came inside a stream or instead of one.
    pub status: u16,
    /// Its headers.
    pub headers: HeaderMap,
    /// The beginning of its body.
    pub body: String,
}

impl ErrorResponse {
    /// Reads an answer's body as far as it is of use. What cannot be read is left out.
    pub(super) async fn read(mut response: Response, patience: Duration) -> Self {
        let status = response.status().as_u16();
        let headers = response.headers().clone();
        let mut body = Vec::new();
        let read = async {
            while let Ok(Some(piece)) = response.chunk().await {
                body.extend_from_slice(&piece);
                if body.len() >= BODY_BYTES {
                    body.truncate(BODY_BYTES);
                    break;
                }
            }
        };
        let _ = tokio::time::timeout(patience, read).await;
        Self {
            status,
            headers,
            body: String::from_utf8_lossy(&body).into_owned(),
        }
    }

    /// The body as the vendor's type, if it is that.
    pub fn json<T: DeserializeOwned>(&self) -> Option<T> {
        serde_json::from_str(&self.body).ok()
    }

    /// A header's text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// How long the server wants us to wait, by the headers all vendors share.
    pub fn retry_after(&self) -> Option<Duration> {
        retry_after::retry_after(&self.headers, SystemTime::now())
    }

    /// The class the status alone means; `said` is the vendor's sentence, empty if it has none.
    pub fn classify_status(&self, said: &str) -> Error {
        let retry_after = self.retry_after();
        match self.status {
            401 | 403 => Error::Unauthorized(self.error_text(said)),
            408 => Error::Broken(self.error_text(said)),
            413 => Error::TooLong { limit: None },
            429 => Error::RateLimited { retry_after },
            503 | 529 => Error::Overloaded { retry_after },
            500.. => Error::Broken(self.error_text(said)),
            400..=499 => Error::Refused(self.error_text(said)),
            status => Error::Broken(format!(
                "answered {status} with no event stream: {}",
                self.error_text(said)
            )),
        }
    }

    /// The vendor's sentence, or the beginning of the body, with the request's name for diagnosis.
    pub fn error_text(&self, said: &str) -> String {
        let said = if said.trim().is_empty() {
            self.body.trim()
        } else {
            said.trim()
        };
        let mut words: String = said.chars().take(SENTENCE).collect();
        if words.is_empty() {
            words = format!("status {}", self.status);
        }
        if let Some(request) = request_id(&self.headers) {
            words.push_str(&format!(" (request {request})"));
        }
        words
    }
}

/// The server's name for a request, under any of the headers vendors use.
pub fn request_id(headers: &HeaderMap) -> Option<String> {
    ["request-id", "x-request-id", "x-goog-request-id", "cf-ray"]
        .iter()
        .find_map(|name| headers.get(*name)?.to_str().ok())
        .filter(|id| !id.is_empty())
        .map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_alone_names_a_class() {
        let class = |status| {
            ErrorResponse {
                status,
                body: "no".into(),
                ..ErrorResponse::default()
            }
            .classify_status("")
        };
        assert_eq!(class(401), Error::Unauthorized("no".into()));
        assert_eq!(class(403), Error::Unauthorized("no".into()));
        assert_eq!(class(404), Error::Refused("no".into()));
        assert_eq!(class(413), Error::TooLong { limit: None });
        assert_eq!(class(429), Error::RateLimited { retry_after: None });
        assert_eq!(class(500), Error::Broken("no".into()));
        assert_eq!(class(503), Error::Overloaded { retry_after: None });
        assert_eq!(class(529), Error::Overloaded { retry_after: None });
        assert!(matches!(class(302), Error::Broken(_)));
        assert!(matches!(class(200), Error::Broken(_)));
    }

    #[test]
    fn words_name_the_request_and_are_bounded() {
        let headers = HeaderMap::from_iter([(
            reqwest::header::HeaderName::from_static("request-id"),
            reqwest::header::HeaderValue::from_static("req_1"),
        )]);
        let refusal = ErrorResponse {
            status: 400,
            headers,
            body: "x".repeat(5000),
        };
        assert_eq!(refusal.error_text("too bad"), "too bad (request req_1)");
        assert!(refusal.error_text("").len() < 700);
    }
}

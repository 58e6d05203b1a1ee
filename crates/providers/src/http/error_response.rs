//! A response that is not a stream: its status, headers and body, and the error class of the status.

use std::time::{Duration, SystemTime};

use reqwest::{Response, header::HeaderMap};
use serde::de::DeserializeOwned;

use super::retry_after;
use crate::Error;

/// Maximum bytes read of an error body; no vendor says anything useful beyond that.
const BODY_BYTES: usize = 64 * 1024;

/// Maximum characters kept of a vendor's error message.
const SENTENCE: usize = 600;

/// An error response.
#[derive(Clone, Debug, Default)]
pub struct ErrorResponse {
    /// The status; 200 if the error came inside a stream or instead of one.
    pub status: u16,
    /// Its headers.
    pub headers: HeaderMap,
    /// The beginning of its body.
    pub body: String,
}

impl ErrorResponse {
    /// Reads a response's body up to the limit. A part that cannot be read is left out.
    pub(super) async fn read(mut response: Response, timeout: Duration) -> Self {
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
        let _ = tokio::time::timeout(timeout, read).await;
        Self {
            status,
            headers,
            body: String::from_utf8_lossy(&body).into_owned(),
        }
    }

    /// Parses the body as the vendor's type, if it is that.
    pub fn json<T: DeserializeOwned>(&self) -> Option<T> {
        serde_json::from_str(&self.body).ok()
    }

    /// A header's text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The retry delay from the headers that all vendors share.
    pub fn retry_after(&self) -> Option<Duration> {
        retry_after::retry_after(&self.headers, SystemTime::now())
    }

    /// Classifies by the status alone; `said` is the vendor's message, empty if there is none.
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

    /// The vendor's message, or the beginning of the body, with the request id for diagnosis.
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

/// The request id, from any of the headers vendors use.
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

//! The HTTP client that platforms are reached with, and the failure class of a request that got no answer.
//!
//! Messages name no URL and no header: URLs of Telegram hold the token.

use std::{error::Error as _, time::Duration};

use reqwest::{
    Client, ClientBuilder, RequestBuilder, StatusCode,
    header::{HeaderMap, RETRY_AFTER},
};

use crate::{FailureClass, SendError};

/// How long a connection may take to be made.
const CONNECT: Duration = Duration::from_secs(10);
/// The longest answer that is read.
const LONGEST_ANSWER: u64 = 16 << 20;

/// A status with its body.
#[derive(Debug)]
pub(crate) struct HttpAnswer {
    pub(crate) status: StatusCode,
    pub(crate) body: Vec<u8>,
    pub(crate) retry_after: Option<Duration>,
}

/// A client for an address.
pub(crate) fn client(base: &str) -> Result<Client, SendError> {
    builder(base)
        .build()
        .map_err(|error| SendError::new(FailureClass::Transient, words(&error)))
}

/// What all clients have. One for plain addresses needs no certificates, which take long to read.
pub(crate) fn builder(base: &str) -> ClientBuilder {
    // Fails if a default provider is already installed, which is fine.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = Client::builder()
        .user_agent(concat!("rooftree/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT)
        .tcp_nodelay(true)
        .tcp_keepalive(Duration::from_secs(60))
        // A redirect would send the token to another host.
        .redirect(reqwest::redirect::Policy::none());
    if base.starts_with("http://") {
        builder.tls_certs_only([])
    } else {
        builder
    }
}

/// Sends a request and reads the whole answer.
pub(crate) async fn exchange(request: RequestBuilder) -> Result<HttpAnswer, SendError> {
    bounded(request, LONGEST_ANSWER).await
}

/// The same with another bound for the body.
pub(crate) async fn bounded(request: RequestBuilder, most: u64) -> Result<HttpAnswer, SendError> {
    let (answer, _) = with_headers(request, most).await?;
    Ok(answer)
}

/// The same with the headers of the answer.
pub(crate) async fn with_headers(
    request: RequestBuilder,
    most: u64,
) -> Result<(HttpAnswer, HeaderMap), SendError> {
    let mut response = request.send().await.map_err(|error| failure(&error))?;
    let headers = response.headers().clone();
    let retry_after = headers.get(RETRY_AFTER);
    let retry_after = retry_after.and_then(|value| value.to_str().ok()?.parse().ok());
    let mut answer = HttpAnswer {
        status: response.status(),
        body: Vec::new(),
        retry_after: retry_after.map(Duration::from_secs),
    };
    while let Some(piece) = response.chunk().await.map_err(|error| failure(&error))? {
        if (answer.body.len() + piece.len()) as u64 > most {
            let words = format!("the answer is longer than {most} bytes");
            return Err(SendError::new(FailureClass::InvalidPayload, words));
        }
        answer.body.extend_from_slice(&piece);
    }
    Ok((answer, headers))
}

/// The class of a request that got no whole answer. Invariant: only what surely was not sent may be sent again, so
/// everything behind the connection is `Unknown`.
fn failure(error: &reqwest::Error) -> SendError {
    let class = match () {
        () if error.is_builder() => FailureClass::InvalidPayload,
        () if error.is_connect() => FailureClass::Transient,
        () => FailureClass::Unknown,
    };
    SendError::new(class, words(error))
}

/// The failure that a receiver of our own requests tells by its status. One that takes a request of the same id once may be
/// asked again where an answer was lost.
pub(crate) fn refusal(answer: &HttpAnswer, is_deduplicating: bool) -> SendError {
    let status = answer.status.as_u16();
    let class = match status {
        401 | 407 => FailureClass::Auth,
        403 => FailureClass::Permission,
        404 | 410 => FailureClass::NotFound,
        409 => FailureClass::Conflict,
        429 => FailureClass::RateLimit,
        500 | 503 => FailureClass::Transient,
        // A gateway lost the answer: the request may have been carried out.
        501.. if is_deduplicating => FailureClass::Transient,
        501.. => FailureClass::Unknown,
        _ => FailureClass::InvalidPayload,
    };
    let words = match status {
        300..=399 => {
            format!("the receiver redirects ({status}), which is not followed; set the new URL")
        }
        _ => format!("the receiver answered with status {status}"),
    };
    let mut error = SendError::new(class, words);
    error.retry_after = answer.retry_after;
    error
}

/// An error and its causes in one line, without the URL.
fn words(error: &reqwest::Error) -> String {
    let kind = match () {
        () if error.is_connect() => "cannot connect",
        () if error.is_builder() => "the request cannot be built",
        () if error.is_timeout() => "no answer in time",
        () if error.is_decode() || error.is_body() => "the answer broke off",
        () => "the connection broke",
    };
    let mut words = kind.to_owned();
    let mut source = error.source();
    while let Some(cause) = source {
        let text = cause.to_string();
        if !words.contains(&text) && !text.contains("://") {
            words.push_str(": ");
            words.push_str(&text);
        }
        source = cause.source();
    }
    words
}

/// Doubling waits between attempts to reconnect, from one second to a minute.
#[derive(Debug, Default)]
pub(crate) struct ReconnectBackoff(u32);

impl ReconnectBackoff {
    /// The next wait; what the platform asks for wins.
    pub(crate) fn next(&mut self, error: &SendError) -> Duration {
        let wait = Duration::from_secs(1 << self.0.min(6)).min(Duration::from_secs(60));
        self.0 = self.0.saturating_add(1);
        error.retry_after.unwrap_or(wait)
    }

    pub(crate) fn reset(&mut self) {
        self.0 = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_a_minute_and_the_platforms_wish_wins() {
        let mut backoff = ReconnectBackoff::default();
        let mut error = SendError::new(FailureClass::Transient, "x");
        let waits: Vec<u64> = (0..8).map(|_| backoff.next(&error).as_secs()).collect();
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 60, 60]);
        error.retry_after = Some(Duration::from_secs(7));
        assert_eq!(backoff.next(&error).as_secs(), 7);
        backoff.reset();
        error.retry_after = None;
        assert_eq!(backoff.next(&error).as_secs(), 1);
    }
}

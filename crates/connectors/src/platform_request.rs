//! HTTP requests that platforms make to a connector (webhooks), and the answers that the server writes.

use std::fmt;

use serde_json::{Value, json};

/// A request of a platform to the address of a connector.
#[derive(Clone, Copy)]
pub struct PlatformRequest<'request> {
    /// Names in any case, with their values.
    pub headers: &'request [(&'request str, &'request str)],
    /// The whole body; the server reads no more than the connector's limit.
    pub body: &'request [u8],
    /// The server's clock when it arrived, in milliseconds since 1970.
    pub at_ms: i64,
}

impl fmt::Debug for PlatformRequest<'_> {
    /// Headers hold secrets and signatures.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "PlatformRequest({} bytes)", self.body.len())
    }
}

impl<'request> PlatformRequest<'request> {
    /// The value of a header; none if it stands there twice, because then it is unclear which one was signed.
    pub(crate) fn header(&self, name: &str) -> Option<&'request str> {
        let mut found = self
            .headers
            .iter()
            .filter(|(other, _)| other.eq_ignore_ascii_case(name));
        let (_, value) = found.next()?;
        found.next().is_none().then_some(*value)
    }
}

/// What a request is answered with.
#[derive(Clone, Debug, PartialEq)]
pub struct PlatformAnswer {
    /// The HTTP status.
    pub status: u16,
    /// The JSON body; `error` says why a request was refused, without secrets.
    pub body: Value,
}

impl PlatformAnswer {
    /// It is stored.
    pub(crate) fn taken(status: u16, body: Value) -> Self {
        Self { status, body }
    }

    pub(crate) fn refused(status: u16, why: &str) -> Self {
        let body = json!({"error": why});
        Self { status, body }
    }

    /// Whether what the request held is stored.
    pub fn is_taken(&self) -> bool {
        (200..300).contains(&self.status)
    }
}

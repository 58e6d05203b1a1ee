//! Parses a client request to the proxy: the target host, and the request to forward. Except for reading, it is pure.
//!
//! Invariant: the host that is judged is the one that is connected to and the one that is named to
//! the server: whatever else the client calls it is left out.

use std::io;

use tokio::{io::AsyncReadExt, net::TcpStream};

use crate::web::{guard::WebError, target::UrlTarget};

/// Bytes a client may need to say what it wants.
const LONGEST: usize = 64 * 1024;

const HEADERS: usize = 128;

/// Headers between a client and its proxy, and the one that is written anew.
const OURS: [&str; 7] = [
    "host",
    "connection",
    "keep-alive",
    "proxy-connection",
    "proxy-authorization",
    "te",
    "upgrade",
];

/// A request, understood.
#[derive(Debug)]
pub(super) struct ProxyRequest {
    pub(super) target: UrlTarget,
    /// The request as the server is to see it; none if all that follows is the client's affair.
    request: Option<Vec<u8>>,
    /// What the client has sent beyond it.
    rest: Vec<u8>,
}

impl ProxyRequest {
    /// Reads from a client until it has said what it wants. The outer error: it went away.
    pub(super) async fn read(client: &mut TcpStream) -> io::Result<Result<Self, WebError>> {
        let mut bytes = Vec::new();
        loop {
            if client.read_buf(&mut bytes).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            match Self::parse(&bytes) {
                Ok(None) if bytes.len() > LONGEST => {
                    return Ok(Err(WebError::malformed(
                        "The head of the request is too long.",
                    )));
                }
                Ok(None) => {}
                Ok(Some(head)) => return Ok(Ok(head)),
                Err(refusal) => return Ok(Err(refusal)),
            }
        }
    }

    /// Understands a request; none if it is not all there yet.
    fn parse(bytes: &[u8]) -> Result<Option<Self>, WebError> {
        let mut headers = [httparse::EMPTY_HEADER; HEADERS];
        let mut request = httparse::Request::new(&mut headers);
        let length = match request.parse(bytes) {
            Ok(httparse::Status::Complete(length)) => length,
            Ok(httparse::Status::Partial) => return Ok(None),
            Err(error) => {
                return Err(WebError::malformed(format!(
                    "This is no HTTP request: {error}."
                )));
            }
        };
        let rest = bytes.get(length..).unwrap_or_default().to_vec();
        let (method, wanted) = (
            request.method.unwrap_or_default(),
            request.path.unwrap_or_default(),
        );
        if method == "CONNECT" {
            return Ok(Some(Self {
                target: tunnel(wanted)?,
                request: None,
                rest,
            }));
        }
        let Some((authority, path)) = absolute(wanted) else {
            return Err(WebError::malformed(
                "This is a proxy: ask with CONNECT, or for a whole http:// address.",
            ));
        };
        let target = UrlTarget::parse(&format!("http://{authority}/"))?;
        let request = rewritten(&request, &target, &path);
        Ok(Some(Self {
            target,
            request: Some(request),
            rest,
        }))
    }

    /// What the client hears once the server is reached.
    pub(super) fn said_to_client(&self) -> &'static [u8] {
        if self.request.is_none() {
            b"HTTP/1.1 200 Connection established\r\n\r\n"
        } else {
            b""
        }
    }

    /// What the server hears first.
    pub(super) fn said_to_server(&self) -> Vec<u8> {
        [self.request.as_deref().unwrap_or_default(), &self.rest].concat()
    }
}

/// Where a tunnel is to lead: a host and a port.
fn tunnel(authority: &str) -> Result<UrlTarget, WebError> {
    let is_plain = !authority.contains(['/', '?', '#', '@', '\\', '%']);
    let has_port = authority
        .rsplit_once(':')
        .is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    if !is_plain || !has_port {
        return Err(WebError::malformed("CONNECT needs a host and a port."));
    }
    UrlTarget::parse(&format!("https://{authority}/"))
}

/// A whole address as whom and what; none if it is not one.
fn absolute(wanted: &str) -> Option<(&str, String)> {
    let (scheme, rest) = wanted.split_once("://")?;
    if !scheme.eq_ignore_ascii_case("http") {
        return None;
    }
    let rest = rest.split('#').next().unwrap_or_default();
    let end = rest.find(['/', '?', '\\']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at_checked(end)?;
    let path = if path.starts_with('/') {
        path.to_owned()
    } else {
        format!("/{path}")
    };
    Some((authority, path))
}

/// The request as the server is to see it. One per connection: the next may be for another host.
fn rewritten(request: &httparse::Request<'_, '_>, target: &UrlTarget, path: &str) -> Vec<u8> {
    let host = match target.url().port() {
        Some(port) => format!("{}:{port}", target.host()),
        None => target.host().to_owned(),
    };
    let (method, version) = (
        request.method.unwrap_or_default(),
        request.version.unwrap_or(1),
    );
    let mut written =
        format!("{method} {path} HTTP/1.{version}\r\nHost: {host}\r\nConnection: close\r\n")
            .into_bytes();
    let is_theirs = |header: &&httparse::Header<'_>| {
        !OURS.iter().any(|own| own.eq_ignore_ascii_case(header.name))
    };
    for header in request.headers.iter().filter(is_theirs) {
        written.extend_from_slice(header.name.as_bytes());
        written.extend_from_slice(b": ");
        written.extend_from_slice(header.value);
        written.extend_from_slice(b"\r\n");
    }
    written.extend_from_slice(b"\r\n");
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Option<ProxyRequest>, WebError> {
        ProxyRequest::parse(text.as_bytes())
    }

    #[test]
    fn a_request_is_rewritten_for_its_server() {
        let text = "POST http://A.test:80/x/../y?q=1#part HTTP/1.1\r\nHost: evil.test\r\nProxy-Authorization: x\r\n\
                    Content-Length: 2\r\nConnection: keep-alive\r\n\r\nhi";
        let head = parsed(text).unwrap().unwrap();
        assert_eq!(head.target.host(), "a.test");
        let wanted = "POST /x/../y?q=1 HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\nContent-Length: 2\r\n\r\nhi";
        assert_eq!(String::from_utf8(head.said_to_server()).unwrap(), wanted);
        assert_eq!(head.said_to_client(), b"");
    }

    #[test]
    fn a_tunnel_leads_to_the_host_that_is_judged() {
        let head = parsed("CONNECT A.test:443 HTTP/1.1\r\nHost: evil.test\r\n\r\nrest")
            .unwrap()
            .unwrap();
        assert_eq!((head.target.host(), head.target.port()), ("a.test", 443));
        assert_eq!(head.said_to_server(), b"rest");
        assert!(head.said_to_client().starts_with(b"HTTP/1.1 200"));
        let head = parsed("CONNECT 2130706433:80 HTTP/1.1\r\n\r\n")
            .unwrap()
            .unwrap();
        assert_eq!((head.target.host(), head.target.port()), ("127.0.0.1", 80));
    }

    #[test]
    fn what_could_be_taken_for_somebody_else_is_refused() {
        for line in [
            "CONNECT a.test HTTP/1.1",
            "CONNECT a.test:443@evil.test:443 HTTP/1.1",
            "CONNECT evil.test/@a.test:443 HTTP/1.1",
            "CONNECT evil.test#a.test:443 HTTP/1.1",
            "CONNECT a.test:99999 HTTP/1.1",
            "CONNECT http://a.test:443 HTTP/1.1",
            "GET / HTTP/1.1",
            "GET https://a.test/ HTTP/1.1",
            "GET http://a.test@evil.test/ HTTP/1.1",
            "GET http://evil.test\\@a.test/ HTTP/1.1",
            "GET http:/a.test/ HTTP/1.1",
            "GET ftp://a.test/ HTTP/1.1",
            "GET http:///a.test/ HTTP/1.1",
            "\u{16}\u{3}\u{1}",
        ] {
            let refusal = parsed(&format!("{line}\r\nHost: a.test\r\n\r\n"));
            let found = refusal.map(|head| head.map(|head| head.target.host().to_owned()));
            assert!(
                found.is_err() || matches!(&found, Ok(Some(host)) if host == "evil.test"),
                "{line}: {found:?}"
            );
        }
        assert!(
            parsed("GET http://a.test/ HTTP/1.1\r\nHost: a")
                .unwrap()
                .is_none()
        );
    }
}

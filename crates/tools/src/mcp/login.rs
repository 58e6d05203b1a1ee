//! OAuth login to a server: the authorization page for the user, and a local listener for the redirect.

use std::path::Path;

use rmcp::transport::{AuthorizationRequest, AuthorizationSession};
use rooftree_protocol::McpServer;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

use super::{
    Error,
    identity::{McpTransport, reach},
    sanitize::{COMPLAINT, sanitize_text},
    tokens::{failed, manager},
};

/// Bytes of a visit that are read.
const VISIT: usize = 16 * 1024;
/// Where the person is sent back to.
const PATH: &str = "/callback";

/// A login that waits for the person.
pub struct McpLogin {
    session: AuthorizationSession,
    listener: TcpListener,
    base: String,
}

impl McpLogin {
    /// Finds out where one logs in, makes us known there, and listens on this machine for the way back.
    pub async fn begin(server: &McpServer, tokens: &Path) -> Result<Self, Error> {
        let McpTransport::Address(url) = reach(server)? else {
            let words =
                "it is a program of this machine; what it needs to know belongs into its `env`";
            return Err(Error::Misconfigured(words.to_owned()));
        };
        let listener = TcpListener::bind("127.0.0.1:0")
            .await
            .map_err(|error| unheard(&error))?;
        let base = format!(
            "http://{}",
            listener.local_addr().map_err(|error| unheard(&error))?
        );
        let mut manager = manager(url, tokens.to_owned()).await?;
        let found = manager
            .resolve_metadata()
            .await
            .map_err(|error| failed(&error))?;
        manager.set_metadata(found.metadata);
        let request =
            AuthorizationRequest::new(format!("{base}{PATH}")).with_client_name("Rooftree");
        let session = AuthorizationSession::new(manager, request)
            .await
            .map_err(|(_, error)| failed(&error))?;
        Ok(Self {
            session,
            listener,
            base,
        })
    }

    /// The page where the person says yes.
    pub fn page(&self) -> &str {
        self.session.get_authorization_url()
    }

    /// Waits until the person comes back, and keeps what was brought.
    pub async fn finish(self) -> Result<(), Error> {
        loop {
            let (mut visitor, _) = self
                .listener
                .accept()
                .await
                .map_err(|error| unheard(&error))?;
            let Some(path) = visited(&mut visitor).await else {
                continue;
            };
            if !path.starts_with(&format!("{PATH}?")) {
                reply(&mut visitor, "404 Not Found", "There is nothing here.").await;
                continue;
            }
            let answer = format!("{}{path}", self.base);
            let kept = self.session.handle_callback_url(&answer).await;
            let words = if kept.is_ok() {
                "You are logged in."
            } else {
                "That did not work."
            };
            reply(
                &mut visitor,
                "200 OK",
                &format!("{words} You can close this page."),
            )
            .await;
            return match (refused(&path), kept) {
                (_, Ok(_)) => Ok(()),
                (Some(reason), _) => {
                    Err(Error::Refused(format!("the login was refused: {reason}")))
                }
                (None, Err(error)) => Err(failed(&error)),
            };
        }
    }
}

fn unheard(error: &std::io::Error) -> Error {
    Error::Unreachable(format!("nothing can be heard on this machine: {error}"))
}

/// The path of an HTTP GET request; none if the request cannot be parsed.
async fn visited(visitor: &mut TcpStream) -> Option<String> {
    let (mut head, mut piece) = (Vec::new(), [0; 1024]);
    while !head.windows(4).any(|end| end == b"\r\n\r\n") && head.len() < VISIT {
        let length = visitor
            .read(&mut piece)
            .await
            .ok()
            .filter(|length| *length > 0)?;
        head.extend_from_slice(piece.get(..length)?);
    }
    let head = String::from_utf8(head).ok()?;
    let path = head
        .lines()
        .next()?
        .strip_prefix("GET ")?
        .split(' ')
        .next()?;
    Some(path.to_owned())
}

/// The `error` parameter of the redirect: why the login was refused.
fn refused(path: &str) -> Option<String> {
    let (_, query) = path.split_once('?')?;
    let reason = query
        .split('&')
        .find_map(|pair| pair.strip_prefix("error="))?;
    Some(sanitize_text(reason, COMPLAINT))
}

async fn reply(visitor: &mut TcpStream, status: &str, words: &str) {
    let page = format!("<!doctype html><title>Rooftree</title><p>{words}</p>");
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/html\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        page.len()
    );
    // Whether the page is seen changes nothing.
    let _ = visitor.write_all(format!("{head}{page}").as_bytes()).await;
    let _ = visitor.shutdown().await;
}

//! Redacts a server's secrets in its output: a server may repeat what it was given.

use std::path::{Path, PathBuf};

use rooftree_process::looks_secret;
use rooftree_protocol::McpServer;

use super::tokens::stored_tokens;

/// Shorter values are words, not secrets; taking them out would only garble what is said.
const SHORTEST: usize = 6;

/// What a server was given in confidence, and what it was called.
#[derive(Clone, Default)]
pub(super) struct ServerSecrets {
    given: Vec<(String, String)>,
    /// Where tokens are kept that the person got by logging in. They change while it is talked with.
    tokens: Option<PathBuf>,
}

/// What a server is given in confidence, by name: every header, and the variables that are named like
/// secrets.
pub fn server_secrets(server: &McpServer) -> Vec<(String, String)> {
    let headers = server
        .headers
        .iter()
        .map(|(name, value)| (name, bare(value)));
    let variables = server.env.iter().filter(|(name, _)| looks_secret(name));
    let all = headers.chain(variables.map(|(name, value)| (name, value.as_str())));
    let long = all.filter(|(_, value)| value.len() >= SHORTEST);
    long.map(|(name, value)| (name.clone(), value.to_owned()))
        .collect()
}

impl ServerSecrets {
    /// The secrets of its configuration, and its tokens in a token file.
    pub(super) fn of(server: &McpServer, tokens: Option<&Path>) -> Self {
        let tokens = tokens.filter(|_| server.url.is_some()).map(Path::to_owned);
        Self {
            given: server_secrets(server),
            tokens,
        }
    }

    /// The text with names in place of secrets.
    pub(super) fn redact(&self, text: String) -> String {
        let tokens = self
            .tokens
            .as_deref()
            .map(stored_tokens)
            .unwrap_or_default();
        self.given
            .iter()
            .chain(&tokens)
            .fold(text, |text, (name, value)| {
                if text.contains(value.as_str()) {
                    text.replace(value.as_str(), &format!("[{name}]"))
                } else {
                    text
                }
            })
    }
}

/// A header's value without the word for its kind.
fn bare(value: &str) -> &str {
    value
        .split_once(' ')
        .filter(|(kind, _)| ["bearer", "basic", "token"].contains(&kind.to_lowercase().as_str()))
        .map_or(value, |(_, rest)| rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nor_what_the_person_got_by_logging_in() {
        use std::os::unix::fs::OpenOptionsExt;
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("mcp-tokens.json");
        let mut open = std::fs::OpenOptions::new();
        let mut written = open
            .create(true)
            .write(true)
            .mode(0o600)
            .open(&file)
            .unwrap();
        let kept = r#"{"https://a.test/mcp": {"client_id": "us", "token_response":
            {"access_token": "abc-access", "token_type": "bearer", "refresh_token": "abc-refresh"}}}"#;
        std::io::Write::write_all(&mut written, kept.as_bytes()).unwrap();
        let server = McpServer {
            url: Some("https://a.test/mcp".into()),
            ..McpServer::default()
        };
        let said = ServerSecrets::of(&server, Some(&file))
            .redact("abc-access, abc-refresh for us".to_owned());
        assert_eq!(said, "[access_token], [refresh_token] for us");
    }

    #[test]
    fn a_server_cannot_repeat_its_secrets() {
        let pairs = |pairs: &[(&str, &str)]| {
            pairs
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect()
        };
        let server = McpServer {
            env: pairs(&[("API_TOKEN", "tok-123456"), ("MODE", "production")]),
            headers: pairs(&[("Authorization", "Bearer abcdefgh")]),
            ..McpServer::default()
        };
        let said = "token tok-123456 in production for abcdefgh".to_owned();
        assert_eq!(
            ServerSecrets::of(&server, None).redact(said),
            "token [API_TOKEN] in production for [Authorization]"
        );
    }
}

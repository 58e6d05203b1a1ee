//! URL paths of the HTTP API, as server and clients use them.

/// What all paths of the API begin with.
pub const API_PREFIX: &str = "/api/v1";
/// The event stream over many sessions: `POST` opens one.
pub const STREAM: &str = "/stream";
/// One open stream: `PATCH` adds and removes sessions.
pub const STREAM_ONE: &str = "/stream/{stream}";
/// Sessions.
pub const SESSIONS: &str = "/sessions";
/// One session.
pub const SESSION: &str = "/sessions/{session}";
/// The events of one session: a page of JSON, or a stream.
pub const SESSION_EVENTS: &str = "/sessions/{session}/events";
/// The messages of one session: `POST` sends one.
pub const SESSION_MESSAGES: &str = "/sessions/{session}/messages";
/// How far a session was seen: `POST` moves the mark.
pub const SESSION_READ: &str = "/sessions/{session}/read";
/// Commands of every kind: `POST` carries one out.
pub const COMMANDS: &str = "/commands";
/// Permission requests and questions that wait for an answer.
pub const OPEN_QUESTIONS: &str = "/open-questions";
/// The board: who needs a person, what works, what is done.
pub const BOARD: &str = "/board";

/// `POST` exchanges the secret of a one-time link for a cookie.
pub const LOGIN: &str = "/login";
/// `POST` ends the token of a browser.
pub const LOGOUT: &str = "/logout";
/// Who the caller is and what he may do.
pub const ME: &str = "/me";
/// Access tokens.
pub const TOKENS: &str = "/tokens";
/// One access token.
pub const TOKEN: &str = "/tokens/{token}";
/// Persons.
pub const PERSONS: &str = "/persons";
/// One person.
pub const PERSON: &str = "/persons/{person}";
/// `POST` makes a one-time link for another browser of a person.
pub const PERSON_LINKS: &str = "/persons/{person}/links";
/// The audit log.
pub const AUDIT: &str = "/audit";

/// A path with its parameters filled in, in order. Parameters are percent-encoded.
pub fn fill(path: &str, parameters: &[&str]) -> String {
    let mut filled = String::from(API_PREFIX);
    let mut parameters = parameters.iter();
    for piece in path.split_inclusive('/') {
        let (piece, slash) = piece
            .strip_suffix('/')
            .map_or((piece, ""), |piece| (piece, "/"));
        if piece.starts_with('{') {
            encode(&mut filled, parameters.next().copied().unwrap_or_default());
        } else {
            filled.push_str(piece);
        }
        filled.push_str(slash);
    }
    filled
}

fn encode(filled: &mut String, text: &str) {
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~:".contains(&byte) {
            filled.push(char::from(byte));
        } else {
            filled.push_str(&format!("%{byte:02X}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_encoded() {
        assert_eq!(
            fill(SESSION_EVENTS, &["ses_a/../b"]),
            "/api/v1/sessions/ses_a%2F..%2Fb/events"
        );
        assert_eq!(fill(STREAM, &[]), "/api/v1/stream");
    }
}

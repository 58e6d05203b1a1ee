//! Parses an external agent's answer from the body of a response or of a callback.

use ring::digest;
use serde::Deserialize;
use serde_json::Value;

/// Maximum bytes of one body, for a response as for a callback.
pub const BODY_BYTES: usize = 1024 * 1024;

/// One piece of an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ExternalReplyPiece {
    pub(super) text: String,
    /// The error message, if there will be no answer.
    pub(super) error: Option<String>,
    /// Whether more pieces follow.
    pub(super) goes_on: bool,
    /// The agent's id of this piece; duplicates count once.
    pub(super) message: Option<String>,
    /// The session the agent believes it answers.
    pub(super) session: Option<String>,
    /// Whether the body was an object with the fields of an answer, not just some text.
    pub(super) is_formal: bool,
}

#[derive(Deserialize)]
struct ExternalReplyBody {
    text: Option<String>,
    error: Option<Value>,
    #[serde(rename = "final")]
    is_final: Option<bool>,
    message_id: Option<String>,
    session: Option<String>,
}

impl ExternalReplyPiece {
    /// Parses a body: an object with `text` or `error`, else plain text. None if it is not text.
    pub(super) fn read(body: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(body).ok()?;
        let formal = serde_json::from_str(text).ok();
        Some(
            match formal.filter(|formal: &ExternalReplyBody| {
                formal.text.is_some() || formal.error.is_some()
            }) {
                Some(formal) => Self {
                    text: formal.text.unwrap_or_default(),
                    error: formal.error.map(in_words),
                    goes_on: formal.is_final == Some(false),
                    message: formal.message_id,
                    session: formal.session,
                    is_formal: true,
                },
                None => Self {
                    text: text.to_owned(),
                    ..Self::default()
                },
            },
        )
    }

    /// Whether it is the last piece.
    pub(super) fn is_last(&self) -> bool {
        !self.goes_on || self.error.is_some()
    }

    /// Id that distinguishes it from other pieces: the agent's own, else a digest of the body.
    pub(super) fn name(&self, body: &[u8]) -> String {
        self.message.clone().unwrap_or_else(|| digest_of([body]))
    }
}

fn in_words(error: Value) -> String {
    match error {
        Value::String(words) => words,
        Value::Object(fields) => match fields.get("message") {
            Some(Value::String(words)) => words.clone(),
            _ => Value::Object(fields).to_string(),
        },
        other => other.to_string(),
    }
}

/// Digest of some byte strings. The boundaries between them count.
pub(super) fn digest_of<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> String {
    let mut context = digest::Context::new(&digest::SHA256);
    for piece in pieces {
        context.update(&(piece.len() as u64).to_le_bytes());
        context.update(piece);
    }
    context
        .finish()
        .as_ref()
        .iter()
        .take(16)
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_an_answer_a_piece_of_one_a_failure_or_plain_text() {
        let read = |body: &str| ExternalReplyPiece::read(body.as_bytes()).unwrap();
        let formal = |text: &str| ExternalReplyPiece {
            text: text.into(),
            is_formal: true,
            ..ExternalReplyPiece::default()
        };
        assert_eq!(read(r#"{"text": "Hi"}"#), formal("Hi"));
        assert_eq!(
            read(r#"{"text": "Hi", "final": false}"#),
            ExternalReplyPiece {
                goes_on: true,
                ..formal("Hi")
            }
        );
        assert_eq!(
            read(r#"{"error": {"message": "no"}, "final": false, "message_id": "m"}"#),
            ExternalReplyPiece {
                error: Some("no".into()),
                goes_on: true,
                message: Some("m".into()),
                ..formal("")
            }
        );
        for plain in ["Hi", "", "{\"answer\": 1}", "[1]", "{\"text\": 5}"] {
            assert_eq!(
                read(plain),
                ExternalReplyPiece {
                    text: plain.into(),
                    ..ExternalReplyPiece::default()
                }
            );
        }
        assert_eq!(ExternalReplyPiece::read(b"\xff"), None);
    }

    #[test]
    fn a_failure_is_the_last_word_and_names_tell_pieces_apart() {
        assert!(
            ExternalReplyPiece {
                error: Some("no".into()),
                goes_on: true,
                ..ExternalReplyPiece::default()
            }
            .is_last()
        );
        assert!(
            !ExternalReplyPiece {
                goes_on: true,
                ..ExternalReplyPiece::default()
            }
            .is_last()
        );
        let said = ExternalReplyPiece::default();
        assert_eq!(said.name(b"a"), said.name(b"a"));
        assert_ne!(said.name(b"a"), said.name(b"b"));
        assert_ne!(digest_of([&b"ab"[..], b"c"]), digest_of([&b"a"[..], b"bc"]));
    }
}

//! The id that only messages of the runtime carry, so that a model can tell them from forged ones.
//!
//! Text in files must reach a model byte for byte, or Edit would not find what Read has shown; so a tag in it cannot
//! be escaped. Instead each `<system_message>` of the runtime has this id, which the system prompt names. Invariant:
//! in a request the id stands nowhere but in the system prompt and in messages of the runtime; from all other text it
//! is removed (`agent/message_text.rs`).

use std::{fmt, sync::Arc};

use sha2::{Digest, Sha256};

/// Length of the part behind the prefix, as ids have it.
const LENGTH: usize = 24;

/// The id of the runtime's messages: derived from a secret of the installation, the same in each of its
/// sessions and processes, so that providers can reuse what they have read.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct MessageMark(Option<Arc<str>>);

impl MessageMark {
    /// The id that follows from a secret.
    pub fn derived(secret: &[u8]) -> Self {
        let digest = Sha256::new()
            .chain_update(b"rooftree system_message\0")
            .chain_update(secret)
            .finalize();
        let letter = |byte: &u8, most: u8| char::from(b'a' + byte % most);
        let mut text = String::from("sys_");
        text.extend(digest.iter().take(LENGTH).map(|byte| letter(byte, 26)));
        Self(Some(text.into()))
    }

    /// An id for one process, where no secret is kept.
    pub fn random(entropy: u128) -> Self {
        Self::derived(&entropy.to_le_bytes())
    }

    /// The id as text; none in a history that no model reads.
    pub fn as_str(&self) -> Option<&str> {
        self.0.as_deref()
    }

    /// A text without the id, wherever it has it from.
    pub(crate) fn removed_from(&self, text: String) -> String {
        match self.as_str() {
            Some(mark) if text.contains(mark) => text.replace(mark, "[id removed]"),
            _ => text,
        }
    }
}

/// It is a secret of its installation and does not belong into logs.
impl fmt::Debug for MessageMark {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Mark")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_the_same_for_one_secret_and_looks_like_an_id() {
        let mark = MessageMark::derived(b"one");
        assert_eq!(mark, MessageMark::derived(b"one"));
        assert_ne!(mark, MessageMark::derived(b"two"));
        let text = mark.as_str().unwrap();
        assert!(text.starts_with("sys_") && text.len() == 28, "{text}");
        assert_eq!(format!("{mark:?}"), "Mark");
        assert_eq!(mark.removed_from(format!("a {text} b")), "a [id removed] b");
    }
}

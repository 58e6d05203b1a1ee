//! Identifiers: a prefix that says what is named, and 24 characters in cuid2's shape.
//!
//! Ids are made from randomness that the caller brings, so that a simulated
//! runtime makes the same ids again from the same seed.

use std::{borrow::Cow, fmt, sync::Arc};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use crate::{ErrorCode, Problem};

/// Spells 124 bits as a letter followed by 23 letters or digits.
fn spell(entropy: u128) -> String {
    const DIGITS: &[u8; 36] = b"abcdefghijklmnopqrstuvwxyz0123456789";
    let mut rest = entropy;
    let mut take = |base: u128| {
        let digit = (rest % base) as usize;
        rest /= base;
        char::from(DIGITS.get(digit).copied().unwrap_or(b'a'))
    };
    let mut text = String::with_capacity(24);
    text.push(take(26));
    text.extend((0..23).map(|_| take(36)));
    text
}

macro_rules! id {
    ($name:ident, $prefix:literal, $doc:literal) => {
        #[doc = $doc]
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Arc<str>);

        impl $name {
            /// What every id of this kind begins with.
            pub const PREFIX: &'static str = $prefix;

            /// Makes an id out of randomness brought by the caller.
            pub fn from_entropy(entropy: u128) -> Self {
                Self(format!("{}{}", $prefix, spell(entropy)).into())
            }

            /// Reads an id that came from outside; refuses what does not look like one.
            pub fn parse(text: &str) -> Result<Self, Problem> {
                let tail = text.strip_prefix($prefix).unwrap_or_default();
                let plain = tail.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
                if tail.is_empty() || tail.len() > 64 || !plain {
                    return Err(Problem::new(ErrorCode::InvalidArguments, format!("`{text}` is not an id of this kind"))
                        .fix(concat!("such ids look like ", $prefix, "k3v…; `rooftree sessions list` shows them")));
                }
                Ok(Self(text.into()))
            }

            /// The id of this kind with the same tail as another one: one follows from the other.
            pub fn akin_to(other: &str) -> Self {
                let tail = other.split_once('_').map_or(other, |(_, tail)| tail);
                Self(format!("{}{tail}", $prefix).into())
            }

            /// The id as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({"type": "string", "pattern": concat!("^", $prefix)})
            }
        }
    };
}

id!(SessionId, "ses_", "Names a session: one conversation of one definition.");
id!(RunId, "run_", "Names a run; the id of a delegated run is also its task id.");
id!(MessageId, "msg_", "Names a message posted to an inbox.");
id!(CallId, "call_", "Names one tool call; unique within its session.");
id!(PermissionId, "per_", "Names one question to a human about one call.");
id!(QuestionId, "que_", "Names something an agent asks a human during one call.");
id!(ProcessId, "prc_", "Names a background process, which is a task too.");
id!(BlobId, "blb_", "Names stored bytes by their content.");

impl BlobId {
    /// Names bytes by a digest of them; 20 bytes of it are enough.
    pub fn from_digest(digest: &[u8]) -> Self {
        let hex: String = digest.iter().take(20).map(|byte| format!("{byte:02x}")).collect();
        Self(format!("{}{hex}", Self::PREFIX).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_has_its_prefix_and_cuid2_shape() {
        let id = SessionId::from_entropy(u128::MAX);
        let tail = id.as_str().strip_prefix("ses_").unwrap();
        assert_eq!(tail.len(), 24);
        assert!(tail.starts_with(|c: char| c.is_ascii_lowercase()));
        assert_eq!(SessionId::parse(id.as_str()).unwrap(), id);
    }

    #[test]
    fn an_id_of_another_kind_or_with_a_path_in_it_is_refused() {
        for bad in ["run_abc", "ses_", "ses_../etc", "abc", "ses_a b"] {
            assert!(SessionId::parse(bad).is_err(), "{bad}");
        }
    }
}

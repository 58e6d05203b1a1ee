//! Typed ids: a prefix that names the kind, and 24 characters in cuid2's shape.
//!
//! Ids are made from entropy that the caller supplies, so that a simulated
//! runtime makes the same ids again from the same seed.

use std::{borrow::Cow, fmt, sync::Arc};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use crate::{ErrorCode, Problem};

/// Number of values of twelve base-36 digits: the most that fits into a machine word, where division is cheap.
const DOZEN: u128 = 36_u128.pow(12);

/// Encodes 124 bits as a letter followed by 23 letters or digits, the lowest digit first.
fn spell(text: &mut String, entropy: u128) {
    let rest = entropy / 26;
    digits(text, (entropy % 26) as u64, 1);
    digits(text, (rest % DOZEN) as u64, 12);
    digits(text, (rest / DOZEN) as u64, 11);
}

fn digits(text: &mut String, mut rest: u64, count: usize) {
    const DIGITS: &[u8; 36] = b"abcdefghijklmnopqrstuvwxyz0123456789";
    for _ in 0..count {
        text.push(char::from(
            DIGITS.get((rest % 36) as usize).copied().unwrap_or(b'a'),
        ));
        rest /= 36;
    }
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
                let mut text = String::with_capacity($prefix.len() + 24);
                text.push_str($prefix);
                spell(&mut text, entropy);
                Self(text.into())
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
            pub fn derived_from(other: &str) -> Self {
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

id!(
    SessionId,
    "ses_",
    "Names a session: one conversation of one definition."
);
id!(
    RunId,
    "run_",
    "Names a run; the id of a delegated run is also its task id."
);
id!(MessageId, "msg_", "Names a message posted to an inbox.");
id!(
    CallId,
    "call_",
    "Names one tool call; unique within its session."
);
id!(
    PermissionId,
    "per_",
    "Names one question to a human about one call."
);
id!(
    QuestionId,
    "que_",
    "Names something an agent asks a human during one call."
);
id!(
    ProcessId,
    "prc_",
    "Names a background process, which is a task too."
);
id!(OutboxId, "out_", "Names a message to a chat.");
id!(BlobId, "blb_", "Names stored bytes by their content.");

impl BlobId {
    /// The id of some bytes, from their digest; 20 bytes of it are enough.
    pub fn from_digest(digest: &[u8]) -> Self {
        let hex: String = digest
            .iter()
            .take(20)
            .map(|byte| format!("{byte:02x}"))
            .collect();
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
    fn an_id_is_the_entropy_digit_by_digit() {
        for entropy in [
            0,
            1,
            25,
            26,
            26 * 36,
            u128::MAX,
            0x0123_4567_89ab_cdef_0fed_cba9_8765_4321,
        ] {
            let mut rest = entropy;
            let mut digit = |base| {
                let digit = u8::try_from(rest % base).unwrap();
                rest /= base;
                char::from(if digit < 26 {
                    b'a' + digit
                } else {
                    b'0' + digit - 26
                })
            };
            let spelled: String = std::iter::once(digit(26))
                .chain((0..23).map(|_| digit(36)))
                .collect();
            assert_eq!(
                SessionId::from_entropy(entropy).as_str(),
                format!("ses_{spelled}")
            );
        }
    }

    #[test]
    fn an_id_of_another_kind_or_with_a_path_in_it_is_refused() {
        for bad in ["run_abc", "ses_", "ses_../etc", "abc", "ses_a b"] {
            assert!(SessionId::parse(bad).is_err(), "{bad}");
        }
    }
}

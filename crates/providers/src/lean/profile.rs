//! How much is asked of a model: everything, or only what a small one can bear.

use serde::{Deserialize, Serialize};

use crate::catalog::Facts;

/// Tokens below which a window is too small for every tool and its schema.
const SMALL_WINDOW: u64 = 16_000;

/// How a model is asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Profile {
    /// With all tools, by the wire's own calls.
    #[default]
    Full,
    /// With few tools, described and called in plain text.
    Lean,
}

impl Profile {
    /// The profile for a model: the one its entry names, else by what it can.
    pub fn of(facts: &Facts) -> Self {
        let is_small = facts.window.is_some_and(|window| window < SMALL_WINDOW);
        match facts.profile {
            Some(profile) => profile,
            None if is_small || !facts.tools => Self::Lean,
            None => Self::Full,
        }
    }

    /// Why a model has this profile, in words for people.
    pub fn reason(facts: &Facts) -> &'static str {
        match Self::of(facts) {
            _ if facts.profile.is_some() => "its entry says so",
            Self::Full => "all tools, called over the wire",
            Self::Lean if !facts.tools => "it does not call tools by itself",
            Self::Lean => "its window is small",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::Known;

    #[test]
    fn a_model_is_asked_leanly_if_it_cannot_call_or_has_a_small_window_unless_its_entry_says_otherwise() {
        let table = [
            ("", Profile::Full),
            ("tools = false", Profile::Lean),
            ("window = 8192", Profile::Lean),
            ("window = 16_000", Profile::Full),
            ("window = 8192\nprofile = 'full'", Profile::Full),
            ("profile = 'lean'", Profile::Lean),
        ];
        for (entry, expected) in table {
            let known = Known::default().adding("t", &format!("[[model]]\nid = 'a/b'\n{entry}")).unwrap();
            let facts = known.find("a", "b").unwrap();
            assert_eq!(Profile::of(facts), expected, "{entry}");
        }
    }
}

//! API key type that redacts itself to its last characters.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Keys shorter than this show nothing of themselves: four characters would be too much of them.
const LONG_ENOUGH: usize = 12;

/// A provider's API key. Its `Debug` output is redacted to its last characters.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ApiKey(String);

impl ApiKey {
    /// A key without the spaces and line ends that come with copying; none if nothing is left.
    pub fn new(text: impl AsRef<str>) -> Option<Self> {
        let text = text.as_ref().trim();
        (!text.is_empty()).then(|| Self(text.to_owned()))
    }

    /// The key itself, for the header it goes into.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Enough to tell two keys apart: `…x4Qa`.
    pub fn ending(&self) -> String {
        let letters: Vec<char> = self.0.chars().collect();
        let end = letters
            .len()
            .saturating_sub(if letters.len() < LONG_ENOUGH { 0 } else { 4 });
        format!("…{}", letters.iter().skip(end).collect::<String>())
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({})", self.ending())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_shows_its_end_and_a_short_one_nothing() {
        let key = ApiKey::new(" sk-ant-1234567890abcd\n").unwrap();
        assert_eq!(
            (key.reveal(), format!("{key:?}").as_str()),
            ("sk-ant-1234567890abcd", "Key(…abcd)")
        );
        assert_eq!(format!("{:?}", ApiKey::new("short").unwrap()), "Key(…)");
        assert_eq!(ApiKey::new(" \n"), None);
    }
}

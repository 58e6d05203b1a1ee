//! An API key that is looked up for every request, and never printed.

use std::{fmt, sync::Arc};

/// Looks up a key, or reports that there is none. Called for every request, so that a key may change.
#[derive(Clone)]
pub struct Secret(Arc<dyn Fn() -> Option<String> + Send + Sync>);

impl Secret {
    /// A key looked up by this function.
    pub fn from_fn(look_up: impl Fn() -> Option<String> + Send + Sync + 'static) -> Self {
        Self(Arc::new(look_up))
    }

    /// A constant key.
    pub fn fixed(key: impl Into<String>) -> Self {
        let key = key.into();
        Self::from_fn(move || Some(key.clone()))
    }

    /// No key at all.
    pub fn none() -> Self {
        Self::from_fn(|| None)
    }

    /// The key, trimmed of spaces and line ends from copying; none if nothing is left.
    pub fn reveal(&self) -> Option<String> {
        (self.0)()
            .map(|key| key.trim().to_owned())
            .filter(|key| !key.is_empty())
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_trimmed_and_never_printed() {
        let secret = Secret::fixed(" sk-1\n");
        assert_eq!(secret.reveal().as_deref(), Some("sk-1"));
        assert_eq!(format!("{secret:?}"), "Secret(…)");
        assert_eq!(Secret::fixed("  ").reveal(), None);
        assert_eq!(Secret::none().reveal(), None);
    }
}

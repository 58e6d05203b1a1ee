//! One thing a check objects to: where, what is wrong, what to do about it.

use std::fmt;

/// An objection. `fix` is never empty: a wall that only says no teaches nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub place: String,
    pub wrong: String,
    pub fix: String,
}

impl Finding {
    /// An objection to something at `place`, a path with or without `:line`.
    pub fn new(place: impl Into<String>, wrong: impl Into<String>, fix: impl Into<String>) -> Self {
        Self {
            place: place.into(),
            wrong: wrong.into(),
            fix: fix.into(),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}\n    fix: {}", self.place, self.wrong, self.fix)
    }
}

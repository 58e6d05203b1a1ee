//! The ways to confine a program.

use std::fmt;

/// A way to confine a program, the better one first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// Namespaces, made by bubblewrap.
    Bubblewrap,
    /// Landlock rules and a system call filter, by a helper of ours.
    Landlock,
}

impl fmt::Display for Backend {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Bubblewrap => "bubblewrap",
            Self::Landlock => "Landlock",
        })
    }
}

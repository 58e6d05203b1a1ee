//! The sandbox backends: bubblewrap and Landlock.

use std::fmt;

use super::SandboxNetwork;

/// A way to confine a program, the better one first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SandboxBackend {
    /// Namespaces, made by bubblewrap.
    Bubblewrap,
    /// Landlock rules and a system call filter, by a helper of ours.
    Landlock,
}

/// A kind of system call filter.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SeccompProfile {
    pub(crate) backend: SandboxBackend,
    pub(crate) network: SandboxNetwork,
    /// Whether Unix sockets can be made, where namespaces or Landlock keep those of others apart.
    pub(crate) has_unix: bool,
}

impl fmt::Display for SandboxBackend {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Bubblewrap => "bubblewrap",
            Self::Landlock => "Landlock",
        })
    }
}

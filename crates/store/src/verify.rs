//! What `doctor verify` finds out about a real database.

use serde::Serialize;

/// The invariants that were checked and what was found.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Report {
    /// How many of each kind were looked at: sessions, events, inbox items, blobs.
    pub counted: Vec<(String, u64)>,
    /// Which invariants were checked, in words.
    pub checked: Vec<String>,
    /// What is wrong; empty is good.
    pub violations: Vec<Violation>,
}

/// Something that should never be.
#[derive(Clone, Debug, Serialize)]
pub struct Violation {
    /// `I1` … as listed in `docs/durability.md`.
    pub invariant: String,
    /// Where: a session, an event, an item.
    pub place: String,
    /// What is wrong there.
    pub what: String,
}

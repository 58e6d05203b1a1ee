//! Report and invariants of `doctor verify`, which validates a real database.

use serde::Serialize;

/// The invariants a stored database is held to: name and sentence, as `docs/durability.md`
/// lists them. I8 and I9 belong to parts that are not stored here yet.
pub const INVARIANTS: &[(&str, &str)] = &[
    ("I0", "the database file itself is sound"),
    (
        "I1",
        "fences never decrease in a journal and never exceed the session's own",
    ),
    (
        "I2",
        "messages in a journal have the places 1, 2, 3 … of their lane, up to what was taken",
    ),
    (
        "I3",
        "every accepted message is in its inbox, and every taken one in the journal too",
    ),
    ("I4", "no idempotency key occurs twice in a session"),
    ("I5", "the hash chain of every journal is unbroken"),
    (
        "I6",
        "in a settled run every tool call has exactly one result",
    ),
    (
        "I7",
        "a delegated task has exactly one reply in the inbox of the asking session if it ended, else none",
    ),
    (
        "I10",
        "the events of a journal are numbered without a gap up to its head",
    ),
    (
        "I11",
        "runs begin and end in pairs, nothing happens in one that is not open, and at most the one its session names is open",
    ),
    ("I12", "blobs are named by their content"),
    (
        "I13",
        "nothing that was stored is missing, and the log is whole",
    ),
    ("I14", "the sums of usage are those of the journals"),
    (
        "I15",
        "what the board shows of a session is what its journal tells",
    ),
];

/// The invariants that were checked and what was found.
#[derive(Clone, Debug, Default, Serialize)]
pub struct VerifyReport {
    /// How many of each kind were looked at: sessions, events, inbox items, blobs.
    pub counted: Vec<(String, u64)>,
    /// Which invariants were checked, in words.
    pub checked: Vec<String>,
    /// What is wrong; empty is good.
    pub violations: Vec<InvariantViolation>,
}

impl VerifyReport {
    /// A report on all invariants, before anything was looked at.
    pub fn new() -> Self {
        let checked = INVARIANTS
            .iter()
            .map(|(name, sentence)| format!("{name}: {sentence}"))
            .collect();
        Self {
            checked,
            ..Self::default()
        }
    }

    /// Says that something is wrong.
    pub fn violated(&mut self, invariant: &str, place: impl Into<String>, what: impl Into<String>) {
        let violation = InvariantViolation {
            invariant: invariant.to_owned(),
            place: place.into(),
            what: what.into(),
        };
        self.violations.push(violation);
    }
}

/// Something that should never be.
#[derive(Clone, Debug, Serialize)]
pub struct InvariantViolation {
    /// `I1` … as listed in `docs/durability.md`.
    pub invariant: String,
    /// Where: a session, an event, an item.
    pub place: String,
    /// What is wrong there.
    pub what: String,
}

//! Audit log entries: who changed what, for every change that no journal tells.

use rooftree_protocol::{Principal, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// An entry to be added, in the same transaction as the change it tells.
#[derive(Clone, Debug, PartialEq)]
pub struct AuditEntry {
    /// When.
    pub at: Timestamp,
    /// Who.
    pub who: Principal,
    /// What was done: `session.rename`, `rule.add`, `settings.write`.
    pub action: String,
    /// To what: an id, a rule, a path.
    pub subject: String,
    /// What else there is to know about it.
    pub detail: Map<String, Value>,
    /// Whether it is done, or how far a change of files is.
    pub phase: AuditPhase,
}

/// How far a change is. A change in the store is done with its entry; one of files is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "phase", content = "intent")]
pub enum AuditPhase {
    /// Done, in the same transaction.
    Done,
    /// About to change files.
    Intent,
    /// The files of the intent with this number were changed.
    Completed(i64),
    /// The intent with this number failed.
    Failed(i64),
}

/// An entry as it is stored.
#[derive(Clone, Debug, PartialEq)]
pub struct AuditRow {
    /// Its number; later entries have higher ones.
    pub number: i64,
    /// What it tells.
    pub entry: AuditEntry,
}

impl AuditEntry {
    /// An entry about something that is done with it.
    pub fn done(who: &Principal, at: Timestamp, action: &str, subject: impl ToString) -> Self {
        Self {
            at,
            who: who.clone(),
            action: action.to_owned(),
            subject: subject.to_string(),
            detail: Map::new(),
            phase: AuditPhase::Done,
        }
    }

    /// The same with one more detail.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.detail.insert(key.to_owned(), value.into());
        self
    }

    /// The same in another phase.
    #[must_use]
    pub fn in_phase(mut self, phase: AuditPhase) -> Self {
        self.phase = phase;
        self
    }
}

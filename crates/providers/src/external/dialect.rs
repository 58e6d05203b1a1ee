//! Who speaks how: a program's flags, its tools and its records, by its speech.

use std::ffi::OsString;

use serde_json::Value;

use super::{
    account::Account,
    claude, codex,
    grant::Grant,
    pi,
    program::{Program, Speech},
    start::Start,
};
use crate::Workplace;

impl Program {
    /// What of these tools (canonical names) the program gets at this workplace, and what cannot be enforced.
    pub fn grant(&self, tools: &[&str], workplace: &Workplace) -> Grant {
        match self.speech {
            Speech::Claude => claude::grant(tools, workplace),
            Speech::Codex => codex::grant(tools, workplace),
            Speech::Pi => pi::grant(tools, workplace),
        }
    }

    /// The arguments of one start.
    pub(super) fn arguments(&self, start: &Start<'_>) -> Vec<OsString> {
        match self.speech {
            Speech::Claude => claude::arguments(start),
            Speech::Codex => codex::arguments(start),
            Speech::Pi => pi::arguments(start),
        }
    }

    /// Takes in one record.
    pub(super) fn take(&self, record: &Value, account: &mut Account) {
        match self.speech {
            Speech::Claude => claude::take(record, account),
            Speech::Codex => codex::take(record, account),
            Speech::Pi => pi::take(record, account),
        }
    }
}

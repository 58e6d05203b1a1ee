//! Who speaks how: a program's flags, its tools and its records, by its speech.

use std::ffi::OsString;

use rooftree_protocol::PermissionMode;
use serde_json::Value;

use super::{
    account::Account,
    claude, codex,
    grant::Grant,
    pi,
    program::{Program, Speech},
    start::Start,
};

impl Program {
    /// What of these tools (canonical names) the program gets in this mode, and what cannot be enforced.
    pub fn grant(&self, tools: &[&str], mode: PermissionMode) -> Grant {
        match self.speech {
            Speech::Claude => claude::grant(tools, mode),
            Speech::Codex => codex::grant(tools, mode),
            Speech::Pi => pi::grant(tools, mode),
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

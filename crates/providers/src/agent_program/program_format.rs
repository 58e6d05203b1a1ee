//! Dispatches by program format: builds a program's flags, grants its tools and parses its records.

use std::ffi::OsString;

use serde_json::Value;

use super::{
    claude, codex, pi,
    program::{AgentProgram, ProgramFormat},
    program_start::ProgramStart,
    reply_builder::ProgramReplyBuilder,
    tool_grant::ToolGrant,
};
use crate::Workplace;

impl AgentProgram {
    /// Which of these tools (canonical names) the program gets at this workplace, and what cannot be enforced.
    pub fn grant(&self, tools: &[&str], workplace: &Workplace) -> ToolGrant {
        match self.speech {
            ProgramFormat::Claude => claude::grant(tools, workplace),
            ProgramFormat::Codex => codex::grant(tools, workplace),
            ProgramFormat::Pi => pi::grant(tools, workplace),
        }
    }

    /// The command-line arguments of one start.
    pub(super) fn arguments(&self, start: &ProgramStart<'_>) -> Vec<OsString> {
        match self.speech {
            ProgramFormat::Claude => claude::arguments(start),
            ProgramFormat::Codex => codex::arguments(start),
            ProgramFormat::Pi => pi::arguments(start),
        }
    }

    /// Handles one record.
    pub(super) fn take(&self, record: &Value, account: &mut ProgramReplyBuilder) {
        match self.speech {
            ProgramFormat::Claude => claude::take(record, account),
            ProgramFormat::Codex => codex::take(record, account),
            ProgramFormat::Pi => pi::take(record, account),
        }
    }
}

//! Inputs for the command-line flags of one program start.

use rooftree_protocol::Effort;

use super::tool_grant::ToolGrant;
use crate::ModelRequest;

/// One start of a program.
pub(super) struct ProgramStart<'a> {
    pub(super) request: &'a ModelRequest,
    /// The system prompt; none if it is part of the prompt on standard input.
    pub(super) system: Option<&'a str>,
    /// The program's own session to resume.
    pub(super) session: Option<&'a str>,
    pub(super) grant: &'a ToolGrant,
}

impl ProgramStart<'_> {
    /// The model's name; none for the program's default.
    pub(super) fn model(&self) -> Option<&str> {
        Some(self.request.model.as_str()).filter(|model| *model != "default")
    }

    /// The reasoning effort; all programs use the same words.
    pub(super) fn effort(&self) -> Option<&'static str> {
        self.request.effort.map(|effort| match effort {
            Effort::Low => "low",
            Effort::Medium => "medium",
            Effort::High => "high",
        })
    }
}

//! What the flags of one start of a program depend on.

use rooftree_protocol::Effort;

use super::tool_grant::ToolGrant;
use crate::ModelRequest;

/// One start.
pub(super) struct ProgramStart<'a> {
    pub(super) request: &'a ModelRequest,
    /// The system prompt; none if it travels with the prompt.
    pub(super) system: Option<&'a str>,
    /// The program's own session to go on with.
    pub(super) session: Option<&'a str>,
    pub(super) grant: &'a ToolGrant,
}

impl ProgramStart<'_> {
    /// The model's name; none for the program's own choice.
    pub(super) fn model(&self) -> Option<&str> {
        Some(self.request.model.as_str()).filter(|model| *model != "default")
    }

    /// How hard it should think; the programs agree on the words.
    pub(super) fn effort(&self) -> Option<&'static str> {
        self.request.effort.map(|effort| match effort {
            Effort::Low => "low",
            Effort::Medium => "medium",
            Effort::High => "high",
        })
    }
}

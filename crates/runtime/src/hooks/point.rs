//! The points at which hooks are asked or told, under the names that hook files use.

use std::{fmt, str::FromStr};

/// A point at which hooks are asked or told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum HookPoint {
    /// Before a tool is used; it can refuse, rewrite, have the user asked, answer the question.
    PreToolUse,
    /// After a tool was used and did what it should.
    PostToolUse,
    /// After a tool was used and failed.
    PostToolUseFailure,
    /// After all calls of one reply.
    PostToolBatch,
    /// Before a person's message is worked on; it can refuse it or add to it.
    UserPromptSubmit,
    /// A session begins to be worked on, anew or again.
    SessionStart,
    /// A session is cleared, or the program leaves it.
    SessionEnd,
    /// The first agent wants to end its run; it can be made to go on.
    Stop,
    /// A run ended because of a failure.
    StopFailure,
    /// An agent that another one asked begins.
    SubagentStart,
    /// An agent that another one asked wants to end; it can be made to go on.
    SubagentStop,
    /// Before the context is made smaller; it can be put off.
    PreCompact,
    /// After the context was made smaller.
    PostCompact,
    /// Before a person is asked about a call; it can answer instead.
    PermissionRequest,
    /// A call was refused, by a rule, a hook or the user.
    PermissionDenied,
    /// A person is being waited for.
    Notification,
    /// A server of tools asks people something; it can answer or decline instead.
    Elicitation,
    /// What a server of tools asked was answered.
    ElicitationResult,
    /// An instruction file was read for a session.
    InstructionsLoaded,
    /// An item was added to the todo list; it can be taken off again.
    TaskCreated,
    /// An item of the todo list was ticked off; that can be taken back.
    TaskCompleted,
}

/// Every point there is.
pub const POINTS: [HookPoint; 21] = [
    HookPoint::PreToolUse,
    HookPoint::PostToolUse,
    HookPoint::PostToolUseFailure,
    HookPoint::PostToolBatch,
    HookPoint::UserPromptSubmit,
    HookPoint::SessionStart,
    HookPoint::SessionEnd,
    HookPoint::Stop,
    HookPoint::StopFailure,
    HookPoint::SubagentStart,
    HookPoint::SubagentStop,
    HookPoint::PreCompact,
    HookPoint::PostCompact,
    HookPoint::PermissionRequest,
    HookPoint::PermissionDenied,
    HookPoint::Notification,
    HookPoint::Elicitation,
    HookPoint::ElicitationResult,
    HookPoint::InstructionsLoaded,
    HookPoint::TaskCreated,
    HookPoint::TaskCompleted,
];

/// Points that hook files of other programs may name and that do not exist here, with the reason.
const ABSENT: [(&str, &str); 10] = [
    ("Setup", "there is no set-up step"),
    ("UserPromptExpansion", "the runtime expands no prompts"),
    ("MessageDisplay", "what is shown is the client's business"),
    ("TeammateIdle", "there are no teams"),
    ("ConfigChange", "settings are read once"),
    ("CwdChanged", "a session keeps its directory"),
    ("DirectoryAdded", "a session keeps its directory"),
    ("FileChanged", "files are not watched"),
    (
        "WorktreeCreate",
        "working copies are made by the runtime itself",
    ),
    (
        "WorktreeRemove",
        "working copies are removed by the runtime itself",
    ),
];

impl HookPoint {
    /// Its name in hook files.
    pub fn name(self) -> &'static str {
        match self {
            Self::PreToolUse => "PreToolUse",
            Self::PostToolUse => "PostToolUse",
            Self::PostToolUseFailure => "PostToolUseFailure",
            Self::PostToolBatch => "PostToolBatch",
            Self::UserPromptSubmit => "UserPromptSubmit",
            Self::SessionStart => "SessionStart",
            Self::SessionEnd => "SessionEnd",
            Self::Stop => "Stop",
            Self::StopFailure => "StopFailure",
            Self::SubagentStart => "SubagentStart",
            Self::SubagentStop => "SubagentStop",
            Self::PreCompact => "PreCompact",
            Self::PostCompact => "PostCompact",
            Self::PermissionRequest => "PermissionRequest",
            Self::PermissionDenied => "PermissionDenied",
            Self::Notification => "Notification",
            Self::Elicitation => "Elicitation",
            Self::ElicitationResult => "ElicitationResult",
            Self::InstructionsLoaded => "InstructionsLoaded",
            Self::TaskCreated => "TaskCreated",
            Self::TaskCompleted => "TaskCompleted",
        }
    }

    /// Whether something waits behind it that must not pass when a hook fails.
    pub fn is_gate(self) -> bool {
        matches!(
            self,
            Self::PreToolUse | Self::PermissionRequest | Self::UserPromptSubmit
        )
    }

    /// Whether it is about one call of a tool.
    pub fn is_about_a_tool(self) -> bool {
        matches!(
            self,
            Self::PreToolUse
                | Self::PostToolUse
                | Self::PostToolUseFailure
                | Self::PermissionRequest
                | Self::PermissionDenied
        )
    }

    /// Description of the value that a matcher is compared with; none where a matcher would have no effect.
    pub fn matches_on(self) -> Option<&'static str> {
        match self {
            point if point.is_about_a_tool() => Some("the tool's name"),
            Self::SessionStart => Some("startup, resume, clear or compact"),
            Self::SessionEnd => Some("clear or other"),
            Self::SubagentStart | Self::SubagentStop => Some("the agent's name"),
            Self::PreCompact | Self::PostCompact => Some("auto"),
            Self::Notification => Some("permission_prompt or elicitation_dialog"),
            Self::StopFailure => Some("the error's code"),
            Self::Elicitation | Self::ElicitationResult => Some("the server's name"),
            Self::InstructionsLoaded => Some("session_start"),
            _ => None,
        }
    }

    /// Whether words a program prints instead of JSON are added to the conversation.
    pub(super) fn takes_plain_words(self) -> bool {
        matches!(self, Self::UserPromptSubmit | Self::SessionStart)
    }
}

impl fmt::Display for HookPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for HookPoint {
    type Err = String;

    /// Says why there is no such point.
    fn from_str(name: &str) -> Result<Self, String> {
        if let Some(point) = POINTS.into_iter().find(|point| point.name() == name) {
            return Ok(point);
        }
        if let Some((_, why)) = ABSENT.iter().find(|(absent, _)| *absent == name) {
            return Err(format!("hooks of `{name}` are never asked here: {why}"));
        }
        let near = POINTS
            .into_iter()
            .find(|point| point.name().eq_ignore_ascii_case(name));
        Err(match near {
            Some(point) => format!("there is no event `{name}`; did you mean `{point}`?"),
            None => {
                let names: Vec<&str> = POINTS.iter().map(|point| point.name()).collect();
                format!("there is no event `{name}`; there are {}", names.join(", "))
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_point_is_found_by_its_name_and_the_others_are_explained() {
        for point in POINTS {
            assert_eq!(point.name().parse(), Ok(point));
        }
        for (absent, why) in ABSENT {
            assert!(absent.parse::<HookPoint>().unwrap_err().contains(why));
        }
        assert!(
            "pretooluse"
                .parse::<HookPoint>()
                .unwrap_err()
                .contains("did you mean `PreToolUse`")
        );
        assert!(
            "Nonsense"
                .parse::<HookPoint>()
                .unwrap_err()
                .contains("there are PreToolUse")
        );
    }
}

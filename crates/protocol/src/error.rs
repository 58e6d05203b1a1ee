//! Error codes and problems: what failed, why, what to do, in words for people.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A situation a program can tell apart. The text is the code used on every surface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ErrorCode {
    /// Something given by a person, a model or a file is not well-formed.
    InvalidArguments,
    /// A setting or a definition is wrong.
    InvalidConfig,
    /// No such session.
    SessionNotFound,
    /// No such agent definition.
    AgentNotFound,
    /// No such run or background task.
    TaskNotFound,
    /// No such tool.
    ToolNotFound,
    /// The tool exists, but not for this agent.
    ToolNotAllowed,
    /// A person or the policy said no.
    ToolDenied,
    /// The tool ran and did not succeed.
    ToolFailed,
    /// Nobody knows whether the tool took effect, because its executor died.
    ToolInterrupted,
    /// The call was cut short by a cancel or by its time limit.
    ToolCancelled,
    /// Somebody would have to answer and nobody can.
    InteractionUnavailable,
    /// The model's key is missing or refused.
    Unauthorized,
    /// The model cannot be had now: limits, overload, network.
    ProviderUnavailable,
    /// The model refused the request as it is.
    ProviderRefused,
    /// The request does not fit the model's window.
    ContextTooLong,
    /// A scripted model has no answer for this request.
    ScriptExhausted,
    /// A limit on turns, money or time was reached.
    LimitReached,
    /// The verifiers found the work bad.
    NotVerified,
    /// The inbox takes no more messages.
    InboxFull,
    /// Something changed meanwhile, was decided before, or has the same key.
    Conflict,
    /// Another process is working on this session.
    SessionBusy,
    /// The store failed or is full.
    StoreFailed,
    /// The work was stopped on request.
    Cancelled,
    /// A defect of ours.
    Internal,
}

impl ErrorCode {
    /// All codes.
    const ALL: [Self; 24] = [
        Self::InvalidArguments,
        Self::InvalidConfig,
        Self::SessionNotFound,
        Self::AgentNotFound,
        Self::TaskNotFound,
        Self::ToolNotFound,
        Self::ToolNotAllowed,
        Self::ToolDenied,
        Self::ToolFailed,
        Self::ToolInterrupted,
        Self::ToolCancelled,
        Self::InteractionUnavailable,
        Self::Unauthorized,
        Self::ProviderUnavailable,
        Self::ProviderRefused,
        Self::ContextTooLong,
        Self::ScriptExhausted,
        Self::LimitReached,
        Self::NotVerified,
        Self::InboxFull,
        Self::SessionBusy,
        Self::StoreFailed,
        Self::Cancelled,
        Self::Internal,
    ];

    /// The code with this number.
    pub fn from_number(number: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|code| code.number() == number)
    }

    /// The error number people may quote: `E0401`.
    pub fn number(self) -> &'static str {
        match self {
            Self::InvalidArguments => "E0201",
            Self::InvalidConfig => "E0301",
            Self::Unauthorized => "E0401",
            Self::Conflict => "E0409",
            Self::ProviderUnavailable => "E0501",
            Self::ProviderRefused => "E0502",
            Self::ContextTooLong => "E0503",
            Self::ScriptExhausted => "E0504",
            Self::ToolDenied => "E0601",
            Self::InteractionUnavailable => "E0602",
            Self::ToolNotAllowed => "E0603",
            Self::ToolFailed => "E0610",
            Self::ToolInterrupted => "E0611",
            Self::ToolCancelled => "E0612",
            Self::LimitReached => "E0701",
            Self::NotVerified => "E0702",
            Self::SessionNotFound => "E0801",
            Self::AgentNotFound => "E0802",
            Self::TaskNotFound => "E0803",
            Self::ToolNotFound => "E0804",
            Self::SessionBusy => "E0901",
            Self::InboxFull => "E0902",
            Self::StoreFailed => "E0903",
            Self::Cancelled => "E1300",
            Self::Internal => "E9999",
        }
    }
}

/// A failure told to a person or a program: what, why, what to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, thiserror::Error)]
#[error("{message}")]
pub struct Problem {
    /// The situation.
    pub code: ErrorCode,
    /// What failed.
    pub message: String,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    /// What to do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
}

impl Problem {
    /// A problem with only a message.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            cause: None,
            fix: None,
        }
    }

    /// Adds the cause.
    pub fn cause(mut self, cause: impl Into<String>) -> Self {
        self.cause = Some(cause.into());
        self
    }

    /// Adds a suggested fix.
    pub fn fix(mut self, fix: impl Into<String>) -> Self {
        self.fix = Some(fix.into());
        self
    }
}

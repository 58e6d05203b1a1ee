//! Exit codes: the one place where what happened becomes a number.

use std::process::ExitCode;

use rooftree_protocol::ErrorCode;

/// A number for whoever started the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exit(pub u8);

impl Exit {
    /// Finished.
    pub const DONE: Self = Self(0);
    /// The work failed.
    pub const FAILED: Self = Self(1);
    /// Wrong usage.
    pub const USAGE: Self = Self(2);
    /// A setting or a definition is wrong.
    pub const CONFIG: Self = Self(3);
    /// A key is missing or refused.
    pub const CREDENTIALS: Self = Self(4);
    /// The model cannot be had.
    pub const UNAVAILABLE: Self = Self(5);
    /// Something needed permission and nobody could give it.
    pub const PERMISSION: Self = Self(6);
    /// A limit was reached.
    pub const LIMIT: Self = Self(7);
    /// No such session, agent, task or run.
    pub const NOT_FOUND: Self = Self(8);
    /// Busy or locked.
    pub const BUSY: Self = Self(9);
    /// Stopped by Ctrl-C.
    pub const INTERRUPTED: Self = Self(130);
    /// Ended by SIGTERM; what was running can be resumed.
    pub const TERMINATED: Self = Self(143);

    /// The number for a failure.
    pub fn for_error(code: ErrorCode) -> Self {
        match code {
            ErrorCode::InvalidArguments => Self::USAGE,
            ErrorCode::InvalidConfig => Self::CONFIG,
            ErrorCode::Unauthorized => Self::CREDENTIALS,
            ErrorCode::ProviderUnavailable => Self::UNAVAILABLE,
            ErrorCode::ToolDenied | ErrorCode::InteractionUnavailable => Self::PERMISSION,
            ErrorCode::LimitReached => Self::LIMIT,
            ErrorCode::SessionNotFound
            | ErrorCode::AgentNotFound
            | ErrorCode::TaskNotFound
            | ErrorCode::ToolNotFound => Self::NOT_FOUND,
            ErrorCode::SessionBusy | ErrorCode::InboxFull => Self::BUSY,
            ErrorCode::Cancelled => Self::INTERRUPTED,
            _ => Self::FAILED,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.0)
    }
}

//! Exit codes: the one place that maps errors and run results to a number.

use std::process::ExitCode;

use rooftree_protocol::{
    ErrorCode, RunStatus,
    event::{Denial, RunEnd},
};

/// An exit code for the process that started the program.
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
    /// A call needed permission and there was no one to grant it.
    pub const PERMISSION: Self = Self(6);
    /// A limit was reached.
    pub const LIMIT: Self = Self(7);
    /// No such session, agent, task or run.
    pub const NOT_FOUND: Self = Self(8);
    /// Busy or locked.
    pub const BUSY: Self = Self(9);
    /// Completed, but the verifiers found the work bad.
    pub const NOT_VERIFIED: Self = Self(10);
    /// Stopped by Ctrl-C.
    pub const INTERRUPTED: Self = Self(130);
    /// The terminal went away; what was running can be resumed.
    pub const HUNG_UP: Self = Self(129);
    /// The reader of the output has closed the pipe.
    pub const CLOSED_PIPE: Self = Self(141);
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
            ErrorCode::NotVerified => Self::NOT_VERIFIED,
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

/// What a program's questions are answered with once it has closed its side.
pub const NOBODY_LEFT: &str = "standard input is closed, so no user can be asked";

/// Whether a call was refused because it needed permission and there was no one to ask. A denial by a rule or
/// by the user is an answer.
pub fn is_unanswered(denial: &Denial) -> bool {
    denial.reason.starts_with("[auto-rejected")
        || denial.reason == format!("[rejected: {NOBODY_LEFT}]")
}

impl Exit {
    /// The number for how a run ended.
    pub fn for_run(end: &RunEnd) -> Self {
        match end.status {
            RunStatus::Completed if end.is_refuted() => Self::NOT_VERIFIED,
            RunStatus::Completed if end.denials.iter().any(is_unanswered) => Self::PERMISSION,
            RunStatus::Completed => Self::DONE,
            RunStatus::Failed => match end
                .error
                .as_ref()
                .map(|problem| Self::for_error(problem.code))
            {
                // Wrong usage is what was typed, not what happened in a run.
                None | Some(Self::DONE | Self::USAGE) => Self::FAILED,
                Some(exit) => exit,
            },
            RunStatus::Cancelled => Self::INTERRUPTED,
            RunStatus::MaxTurns
            | RunStatus::Budget
            | RunStatus::TimedOut
            | RunStatus::Truncated => Self::LIMIT,
            RunStatus::Interrupted => Self::FAILED,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.0)
    }
}

#[cfg(test)]
mod tests {
    use rooftree_protocol::{CallId, Problem};

    use super::*;

    fn end(status: RunStatus, error: Option<ErrorCode>) -> RunEnd {
        RunEnd {
            error: error.map(|code| Problem::new(code, "x")),
            ..RunEnd::new(status)
        }
    }

    #[test]
    fn every_way_a_run_ends_has_its_number() {
        let table = [
            (RunStatus::Completed, None, 0),
            (RunStatus::Failed, None, 1),
            (RunStatus::Failed, Some(ErrorCode::Internal), 1),
            (RunStatus::Failed, Some(ErrorCode::ScriptExhausted), 1),
            (RunStatus::Failed, Some(ErrorCode::InvalidArguments), 1),
            (RunStatus::Failed, Some(ErrorCode::InvalidConfig), 3),
            (RunStatus::Failed, Some(ErrorCode::Unauthorized), 4),
            (RunStatus::Failed, Some(ErrorCode::ProviderUnavailable), 5),
            (RunStatus::Failed, Some(ErrorCode::LimitReached), 7),
            (RunStatus::Cancelled, None, 130),
            (RunStatus::MaxTurns, None, 7),
            (RunStatus::Budget, None, 7),
            (RunStatus::TimedOut, None, 7),
            (RunStatus::Truncated, None, 7),
            (RunStatus::Interrupted, None, 1),
        ];
        for (status, error, code) in table {
            assert_eq!(
                Exit::for_run(&end(status, error)),
                Exit(code),
                "{status:?} {error:?}"
            );
        }
    }

    #[test]
    fn r1_d1_completed_work_that_was_not_verified_has_a_number_of_its_own() {
        let checked = |status, verified| {
            Exit::for_run(&RunEnd {
                verified,
                ..RunEnd::new(status)
            })
        };
        assert_eq!(checked(RunStatus::Completed, Some(false)), Exit(10));
        assert_eq!(checked(RunStatus::Completed, Some(true)), Exit::DONE);
        assert_eq!(checked(RunStatus::MaxTurns, Some(false)), Exit::LIMIT);
        assert_eq!(checked(RunStatus::Truncated, Some(false)), Exit::LIMIT);
    }

    #[test]
    fn a_denial_counts_only_if_nobody_could_have_said_yes() {
        let denied = |status, reason: &str| {
            let (call, tool, title) = (CallId::from_entropy(1), "Write".into(), "x".into());
            let denials = vec![Denial {
                call,
                tool,
                title,
                reason: reason.into(),
            }];
            Exit::for_run(&RunEnd {
                denials,
                ..end(status, None)
            })
        };
        for reason in [
            "[auto-rejected: no user can be asked] Write changes files",
            "[auto-rejected: no answer in time]",
        ] {
            assert_eq!(
                denied(RunStatus::Completed, reason),
                Exit::PERMISSION,
                "{reason}"
            );
            assert_eq!(denied(RunStatus::MaxTurns, reason), Exit::LIMIT, "{reason}");
        }
        let closed = format!("[rejected: {NOBODY_LEFT}]");
        assert_eq!(denied(RunStatus::Completed, &closed), Exit::PERMISSION);
        for reason in [
            "[denied] the deny rule `Write` refuses it",
            "[rejected by user]",
            "[rejected: no]",
        ] {
            assert_eq!(denied(RunStatus::Completed, reason), Exit::DONE, "{reason}");
        }
    }

    #[test]
    fn every_failure_before_a_run_has_its_number() {
        let table = [
            (ErrorCode::InvalidArguments, 2),
            (ErrorCode::InvalidConfig, 3),
            (ErrorCode::Unauthorized, 4),
            (ErrorCode::ProviderUnavailable, 5),
            (ErrorCode::ToolDenied, 6),
            (ErrorCode::SessionNotFound, 8),
            (ErrorCode::AgentNotFound, 8),
            (ErrorCode::SessionBusy, 9),
            (ErrorCode::StoreFailed, 1),
        ];
        for (code, number) in table {
            assert_eq!(Exit::for_error(code), Exit(number), "{code:?}");
        }
    }
}

//! The outcome of a run: its status, its text, and everything it did.

use std::{fmt, time::Duration};

use rooftree_protocol::{
    ErrorCode, Problem, RunId, RunStatus, SessionId, Usage,
    event::{Denial, Report, RunEnd},
    tool_call::FileNote,
};

use crate::error::{Error, Result};

/// How a run ended, and everything it did. Displays as what the agent said last.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RunOutcome {
    /// In which session.
    pub session: SessionId,
    /// Which run.
    pub run: RunId,
    /// How it ended.
    pub status: RunStatus,
    /// The agent's answer: its last reply, with all pieces of it if the output limit cut it.
    pub text: String,
    /// Model replies.
    pub turns: u32,
    /// Tool calls.
    pub calls: u32,
    /// What it cost itself.
    pub usage: Usage,
    /// What the runs it delegated to cost.
    pub delegated: Usage,
    /// How long it took, waiting included.
    pub duration: Duration,
    /// Files it changed.
    pub files: Vec<FileNote>,
    /// Tools it used, in the order of first use.
    pub tools: Vec<String>,
    /// Calls that were refused.
    pub denials: Vec<Denial>,
    /// Whether the work was checked and found good; none if nothing checks it.
    pub verified: Option<bool>,
    /// The verifiers that found the work bad when it was last checked, and what they said.
    pub failed_checks: Vec<Report>,
    /// What went wrong.
    pub problem: Option<Problem>,
}

impl RunOutcome {
    pub(crate) fn new(session: SessionId, run: RunId, end: RunEnd) -> Self {
        Self {
            session,
            run,
            status: end.status,
            text: end.text,
            turns: end.turns,
            calls: end.calls,
            usage: end.usage,
            delegated: end.delegated,
            duration: Duration::from_millis(end.duration_ms),
            files: end.files,
            tools: end.tools,
            denials: end.denials,
            verified: end.verified,
            failed_checks: end.failed_checks,
            problem: end.error,
        }
    }

    /// This one together with the run that went on with it: how that ended, what both did.
    pub(crate) fn merged_with(self, next: Self) -> Self {
        let (mut usage, mut delegated) = (self.usage, self.delegated);
        usage += next.usage;
        delegated += next.delegated;
        let (mut files, mut tools, mut denials) = (self.files, self.tools, self.denials);
        files.extend(next.files);
        tools.extend(
            next.tools
                .into_iter()
                .filter(|tool| !tools.contains(tool))
                .collect::<Vec<_>>(),
        );
        denials.extend(next.denials);
        Self {
            turns: self.turns + next.turns,
            calls: self.calls + next.calls,
            duration: self.duration + next.duration,
            usage,
            delegated,
            files,
            tools,
            denials,
            ..next
        }
    }

    /// Whether the agent said that it is done.
    pub fn is_completed(&self) -> bool {
        self.status == RunStatus::Completed
    }

    /// US dollars, with everything it delegated, as far as prices are known.
    pub fn cost_usd(&self) -> f64 {
        self.usage.cost_usd + self.delegated.cost_usd
    }

    /// The same if the run was completed and no verifier found the work bad, else why not.
    pub fn completed(self) -> Result<Self> {
        if self.is_completed() && self.verified != Some(false) {
            return Ok(self);
        }
        let problem = self.problem.clone().unwrap_or_else(|| match self.status {
            RunStatus::Completed => not_verified(&self.failed_checks),
            status => unfinished(status),
        });
        Err(Error::from(problem).with_partial(&self.text))
    }
}

fn not_verified(failed: &[Report]) -> Problem {
    let said = failed
        .iter()
        .map(Report::one_line)
        .collect::<Vec<_>>()
        .join("; ");
    Problem::new(
        ErrorCode::NotVerified,
        "the agent says it is done, but its work was not verified",
    )
    .cause(said)
}

fn unfinished(status: RunStatus) -> Problem {
    let (code, message, fix) = match status {
        RunStatus::Cancelled => (ErrorCode::Cancelled, "the run was stopped", None),
        RunStatus::MaxTurns => (
            ErrorCode::LimitReached,
            "the run used up its turns",
            Some("allow more with max_turns"),
        ),
        RunStatus::Budget => (
            ErrorCode::LimitReached,
            "the run used up its money",
            Some("allow more with max_cost"),
        ),
        RunStatus::TimedOut => (
            ErrorCode::LimitReached,
            "the run used up its time",
            Some("allow more with timeout"),
        ),
        RunStatus::Truncated => (
            ErrorCode::LimitReached,
            "the answer was cut off at the model's output limit",
            Some("ask for a shorter answer, or allow more continuations"),
        ),
        RunStatus::Completed | RunStatus::Failed | RunStatus::Interrupted => {
            (ErrorCode::Internal, "the run was cut off", None)
        }
    };
    let problem = Problem::new(code, message);
    match fix {
        Some(fix) => problem.fix(fix),
        None => problem,
    }
}

impl fmt::Display for RunOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

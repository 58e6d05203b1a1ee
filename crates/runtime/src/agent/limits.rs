//! Limits of a run (turns, time, cost), and the reasons why it ends.

use std::time::Duration;

use rooftree_protocol::{EventBody, Limits, Problem, RunStatus, Timestamp, event::NoticeLevel};

use super::History;

/// Reason why a run ends.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum RunEndReason {
    /// The model said it is done.
    Completed,
    /// It used up its turns.
    MaxTurns,
    /// The next question would cost more than is left.
    Budget,
    /// It used up its time.
    TimedOut,
    /// The answer is still cut at the model's output limit.
    Truncated,
    /// A user or an agent stopped it.
    Cancelled,
    /// Something it could not get around.
    Failed(Problem),
    /// The runtime stops; the run stays open and goes on at the next start.
    Paused,
}

impl RunEndReason {
    /// Status for the journal; none if the run is not over.
    pub(crate) fn status(&self) -> Option<RunStatus> {
        match self {
            Self::Completed => Some(RunStatus::Completed),
            Self::MaxTurns => Some(RunStatus::MaxTurns),
            Self::Budget => Some(RunStatus::Budget),
            Self::TimedOut => Some(RunStatus::TimedOut),
            Self::Truncated => Some(RunStatus::Truncated),
            Self::Cancelled => Some(RunStatus::Cancelled),
            Self::Failed(_) => Some(RunStatus::Failed),
            Self::Paused => None,
        }
    }

    pub(crate) fn problem(self) -> Option<Problem> {
        if let Self::Failed(problem) = self {
            Some(problem)
        } else {
            None
        }
    }
}

/// Time left until the run's timeout; none if it has none.
///
/// The time a run lay open without an agent working on it does not count.
pub(crate) fn time_left(
    now: Timestamp,
    awake_since: Timestamp,
    history: &History,
    limits: &Limits,
) -> Option<Duration> {
    let allowed = Duration::from_secs(limits.run_timeout_secs);
    let since = history.run()?.started_at.max(awake_since);
    (!allowed.is_zero()).then(|| allowed.saturating_sub(now.since(since)))
}

/// The notice for a run that used up its turns while tools were still being called.
pub(crate) fn tool_limit_notice(end: &RunEndReason, history: &History) -> Option<EventBody> {
    (*end == RunEndReason::MaxTurns && history.ends_with_results()).then(|| EventBody::Notice {
        level: NoticeLevel::Warning,
        code: "tool_limit".into(),
        message: "Tool execution limit reached.".into(),
        hint: Some("send another message to go on, or raise --max-turns".into()),
    })
}

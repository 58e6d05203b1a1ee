//! Run modes and statuses: why a run started and how it ended.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What started a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunMode {
    /// A person.
    Main,
    /// Another agent that waits.
    Foreground,
    /// Another agent that waits for several.
    Parallel,
    /// Another agent that does not wait.
    Background,
    /// A branched-off session's first message.
    Fork,
    /// Another agent that expects no answer.
    Told,
    /// Another agent whose work it is to check.
    Verifying,
    /// A schedule.
    Scheduled,
    /// A chat.
    Connector,
    /// Something taken in at a boundary while nobody was running.
    Woken,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// The agent said it is done.
    Completed,
    /// Something it could not get around.
    Failed,
    /// Somebody stopped it.
    Cancelled,
    /// It used up its turns.
    MaxTurns,
    /// It used up its money.
    Budget,
    /// It used up its time.
    TimedOut,
    /// Its answer was still cut at the model's output limit after the allowed continuations.
    Truncated,
    /// It was cut off and will not be resumed.
    Interrupted,
}

impl fmt::Display for RunStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::MaxTurns => "max_turns",
            Self::Budget => "budget",
            Self::TimedOut => "timed_out",
            Self::Truncated => "truncated",
            Self::Interrupted => "interrupted",
        })
    }
}

//! Outcome of a session's last run, as the board distinguishes it.

use serde::{Deserialize, Serialize};

/// How the last run of a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionOutcome {
    /// It completed, and no verifier refused its work.
    Done,
    /// Neither completed nor cancelled; or its work was refused.
    Failed,
    /// A person or agent stopped it.
    Stopped,
}

impl SessionOutcome {
    /// The name as it is serialized.
    pub fn name(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Stopped => "stopped",
        }
    }
}

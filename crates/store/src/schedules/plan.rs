//! The plan of a schedule: when it is due, what is done then, with which rights, and what happens if that fails.

use std::path::PathBuf;

use rooftree_protocol::{ChatTarget, Mandate, PromptContext, RunStatus, SessionId};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What is to be done when.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SchedulePlan {
    /// What makes it due.
    pub kind: ScheduleKind,
    /// Its due times, as the crate `schedule` writes them; none if an event makes it due.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spec: Option<Value>,
    /// The time zone in which its times are shown.
    pub zone: String,
    /// Whose work it is.
    pub agent: String,
    /// Where that agent works.
    pub cwd: PathBuf,
    /// In which session.
    #[serde(default)]
    pub session: ScheduledSession,
    /// What is done.
    pub work: ScheduledWork,
    /// A command that decides each time whether it is done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<GateCommand>,
    /// The model it was made with. A later change of the default does not change it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What its agent reads besides the message.
    #[serde(default, skip_serializing_if = "PromptContext::is_full")]
    pub context: PromptContext,
    /// The most its runs may do, if an agent made it; else what a message of its owner may.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rights: Option<Box<Mandate>>,
    /// Where the result is delivered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<ChatTarget>,
    /// Where a failure is told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fail_target: Option<ChatTarget>,
    /// What happens if the run before is not over.
    #[serde(default)]
    pub overlap: Overlap,
    /// What happens to due times that no scheduler saw.
    #[serde(default)]
    pub catch_up: CatchUp,
    /// Seconds after which a due time that no scheduler saw is too old to be caught up.
    #[serde(default = "day")]
    pub max_age_secs: u64,
    /// What it may cost.
    #[serde(default)]
    pub budget: ScheduleBudget,
    /// The part of the day in which it fires, as the crate `schedule` writes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_hours: Option<Value>,
    /// Bounds of the time that a run may choose for the next one.
    #[serde(default)]
    pub pacing: Pacing,
}

fn day() -> u64 {
    86_400
}

/// What makes a schedule due.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ScheduleKind {
    /// A time.
    #[default]
    Time,
    /// A time at which all such tasks of its agent are one message.
    Heartbeat,
    /// Something that happens.
    Event {
        /// What.
        on: ScheduleEvent,
    },
}

impl ScheduleKind {
    /// Its word in the table.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Time => "time",
            Self::Heartbeat => "heartbeat",
            Self::Event { .. } => "event",
        }
    }
}

/// Something that makes a schedule due when it happens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum ScheduleEvent {
    /// A webhook came.
    Webhook {
        /// By which name.
        name: String,
    },
    /// A run of a root session of its owner ended. One that a schedule of kind `event` began does not count: there are no
    /// circles.
    RunEnded {
        /// Whose run; none: of any agent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        agent: Option<String>,
        /// How it ended; none: however it did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        status: Option<RunStatus>,
    },
}

/// In which session the runs of a schedule are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ScheduledSession {
    /// Each in a new one.
    #[default]
    New,
    /// All in one of its own.
    Reuse,
    /// All in this one.
    Known {
        /// Which one.
        id: SessionId,
    },
}

/// What a schedule does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ScheduledWork {
    /// Sends this to its agent.
    Prompt {
        /// What it says.
        text: String,
    },
    /// Runs this in a shell. No model is asked.
    Command {
        /// The command line.
        command: String,
    },
}

/// A command whose exit code says whether a schedule fires: 0 yes, 1 no, anything else is an error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateCommand {
    /// The command line.
    pub command: String,
}

/// What happens if the run before is not over at a due time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Overlap {
    /// The due time is skipped.
    #[default]
    Skip,
    /// The message waits in the same session until that run is over.
    Queue,
}

/// What happens to due times that no scheduler saw.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CatchUp {
    /// They are skipped.
    None,
    /// The last of them is made up for, unless it is too old.
    #[default]
    Once,
}

/// What a schedule may cost. None: no limit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ScheduleBudget {
    /// Tokens of one run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_tokens: Option<u64>,
    /// Tokens within 24 hours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub day_tokens: Option<u64>,
    /// US dollars of one run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_usd: Option<f64>,
    /// US dollars within 24 hours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub day_usd: Option<f64>,
}

/// Bounds of the time that a run may choose for the next one, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pacing {
    /// The least.
    pub min_secs: u64,
    /// The most.
    pub max_secs: u64,
}

impl Default for Pacing {
    fn default() -> Self {
        Self {
            min_secs: 60,
            max_secs: 7 * 86_400,
        }
    }
}

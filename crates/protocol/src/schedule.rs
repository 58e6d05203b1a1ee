//! Schedules as clients write and read them: drafts, listed schedules, their history.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::{RunId, SessionId, Timestamp};

/// What a client wants a schedule to be. What is absent has its default, or stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ScheduleDraft {
    /// What people call it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// `time`, `heartbeat` or `event`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// When it is due: `20m`, `every 2h`, `tomorrow 8:00`, `weekdays at 9`, a cron expression.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub when: Option<String>,
    /// What makes it due, of one of kind `event`: `webhook:NAME`, `run-ended`, `run-ended:AGENT` or `run-ended:AGENT:STATUS`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on: Option<String>,
    /// The time zone that is meant, such as `Europe/Berlin`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zone: Option<String>,
    /// Whose work it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Where that agent works.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<PathBuf>,
    /// `new` for a session each time, `reuse` for one of its own, or the id of a session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// What the agent is told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// A command line that is run instead; no model is asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// A command whose exit code decides each time: 0 fire, 1 skip, anything else an error. Empty: none.
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "null_is_empty"
    )]
    pub gate: Option<String>,
    /// The model. Without one, that of the agent when the schedule is made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What the agent reads besides the message: `full` or `light`, which leaves out instructions, rules, skills and memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// The chat to which the result is delivered, such as `telegram:123`. Empty: none.
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "null_is_empty"
    )]
    pub target: Option<String>,
    /// The chat to which failures are told. Empty: none.
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "null_is_empty"
    )]
    pub fail_target: Option<String>,
    /// What happens if the run before is not over: `skip` or `queue`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overlap: Option<String>,
    /// What happens to due times that no scheduler saw: `none` or `once`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub catch_up: Option<String>,
    /// Seconds after which a due time that no scheduler saw is not caught up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_age_secs: Option<u64>,
    /// Tokens one run may use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_tokens: Option<u64>,
    /// Tokens it may use within 24 hours.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub day_tokens: Option<u64>,
    /// US dollars one run may cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_usd: Option<f64>,
    /// US dollars it may cost within 24 hours.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub day_usd: Option<f64>,
    /// The part of the day in which it fires, such as `08:00-22:00`. Empty: all of it.
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "null_is_empty"
    )]
    pub active_hours: Option<String>,
    /// Whether it fires.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// The revision it must have; absent: whichever it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rev: Option<u64>,
}

/// A null that is written takes away what is there.
fn null_is_empty<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    let written = Option::<String>::deserialize(from)?;
    Ok(Some(written.unwrap_or_default()))
}

/// A schedule, as it is listed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScheduleInfo {
    /// Its id.
    pub id: String,
    /// What people call it.
    pub name: String,
    /// `time`, `heartbeat` or `event`.
    pub kind: String,
    /// When it is due, in words.
    pub words: String,
    /// The same as data.
    pub spec: Value,
    /// The time zone in which its times are shown.
    pub zone: String,
    /// Whose work it is.
    pub agent: String,
    /// What the agent is told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// The command that is run instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The command that decides each time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<String>,
    /// `new`, `reuse` or the id of a session.
    pub session: String,
    /// The model it was made with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// `full` or `light`.
    #[serde(default = "full_context")]
    pub context: String,
    /// Whether it fires.
    pub enabled: bool,
    /// Why it was switched off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disabled_reason: Option<String>,
    /// The next due time.
    pub next_due: Option<Timestamp>,
    /// The next five.
    pub next: Vec<Timestamp>,
    /// `skip` or `queue`.
    pub overlap: String,
    /// `none` or `once`.
    pub catch_up: String,
    /// The chat to which the result is delivered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// The chat to which failures are told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fail_target: Option<String>,
    /// What it may cost.
    pub budget: Value,
    /// The part of the day in which it fires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_hours: Option<Value>,
    /// Failures in a row.
    pub streak: u32,
    /// What became of its last due time.
    pub last: Option<OccurrenceInfo>,
    /// What became of the last twenty, the latest first.
    pub history: Vec<OccurrenceInfo>,
    /// Whose it is.
    pub person: String,
    /// Its revision, which a change must name.
    pub rev: u64,
}

fn full_context() -> String {
    PromptContext::Full.word().to_owned()
}

/// A due time of a schedule and what became of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OccurrenceInfo {
    /// The due time.
    pub due: Timestamp,
    /// How the work went: `claimed`, `running`, `completed`, `failed`, `skipped` or `unknown`.
    pub execution: String,
    /// How far its result is on the way to a chat; `none` if it is not sent anywhere.
    pub delivery: String,
    /// Why it was skipped or failed, in a word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The same in a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// Its run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// The session it ran in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// The beginning of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// Tokens it used.
    #[serde(default)]
    pub tokens: u64,
    /// US dollars it cost.
    #[serde(default)]
    pub cost_usd: f64,
    /// When it began.
    pub started: Timestamp,
    /// When it was over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Timestamp>,
}

/// Failures of a schedule that have the same cause, as far as their words tell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IncidentInfo {
    /// What they have in common: their words without numbers and names.
    pub signature: String,
    /// `detected`; `alerted` after an alert was sent; `acknowledged` when a person silenced its alerts; `resolved`.
    pub state: String,
    /// The last failure in words.
    pub words: String,
    /// How many there were since it was last resolved.
    pub count: u64,
    /// The first.
    pub first: Timestamp,
    /// The last.
    pub last: Timestamp,
}

/// What a written form means.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SchedulePreview {
    /// In words.
    pub words: String,
    /// As data.
    pub spec: Value,
    /// The next five due times.
    pub next: Vec<Timestamp>,
}

/// How much of what stands around it an agent reads in a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PromptContext {
    /// Instructions of the project and its user, rules, skills and memory.
    #[default]
    Full,
    /// None of these: only what the agent is, its tools, and where it works.
    Light,
}

impl PromptContext {
    /// Whether it is the usual one.
    pub fn is_full(&self) -> bool {
        *self == Self::Full
    }

    /// Its word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Light => "light",
        }
    }
}

/// What one run may cost, on top of the limits of its agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunBudget {
    /// Tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// US dollars.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usd: Option<f64>,
}

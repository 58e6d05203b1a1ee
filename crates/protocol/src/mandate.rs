//! Mandate of a delegated run: the most it may do, and the agents it works for.
//!
//! A mandate travels with the message it is about, so authority is part of what was stored:
//! a run that is resumed after a crash has the mandate it had. It only ever narrows.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    Confinement, ModelChoice, ParentCall, PermissionMode, RunId, SessionId, SkillNote, run::RunMode,
};

/// What one delegated run may do, and whose work it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Mandate {
    /// The call that delegated.
    pub parent: ParentCall,
    /// The first run above, which pays for everything below it.
    pub root: RunId,
    /// What it is about, in a few words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// How it was asked.
    pub mode: RunMode,
    /// Whoever is above, the first one first.
    pub above: Vec<Above>,
    /// The tools it may use at most, by canonical name.
    pub tools: Vec<String>,
    /// How much may happen without asking.
    pub permission_mode: PermissionMode,
    /// Rules that allow.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allow: Vec<String>,
    /// Rules that have a person asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ask: Vec<String>,
    /// Rules that refuse.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deny: Vec<String>,
    /// Skills that those above follow: what they leave out, it may not do either.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skills: Vec<SkillNote>,
    /// How what it runs is confined; as everywhere, if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<Confinement>,
    /// The model it thinks with, if the call or the agent above says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelChoice>,
    /// Replies it may have, if the call says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_turns: Option<u32>,
    /// How deep delegation goes below the first run, if that says so; else its own definition does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depth_limit: Option<u32>,
    /// US dollars it may cost, if that is bounded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_cost_usd: Option<f64>,
    /// The working copy it was given, as the runtime describes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<Value>,
    /// Whether its end wakes nobody: a program asked, and has the answer. The session reads it at its next run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub quiet: bool,
    /// How thorough it should be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thoroughness: Option<Thoroughness>,
}

impl Mandate {
    /// Delegation depth: the number of delegations above.
    pub fn depth(&self) -> u32 {
        u32::try_from(self.above.len()).unwrap_or(u32::MAX)
    }

    /// Whether the delegating agent gets the result of the run. What was scheduled is delivered as its schedule says.
    pub fn expects_answer(&self) -> bool {
        !matches!(
            self.mode,
            RunMode::Told | RunMode::Woken | RunMode::Scheduled
        )
    }

    /// The same rights for a later run of the session, which the result of its own background work starts. The
    /// delegating agent has its answer already.
    pub fn woken(&self) -> Self {
        Self {
            mode: RunMode::Woken,
            ..self.clone()
        }
    }
}

/// One of those above.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Above {
    /// Its definition.
    pub agent: String,
    /// Its session.
    pub session: SessionId,
}

/// How thorough an agent should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Thoroughness {
    /// The first good answer.
    Quick,
    /// The usual.
    Medium,
    /// Everything that may matter.
    Thorough,
}

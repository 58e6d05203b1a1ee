//! Agents that the calls of one model reply would start: what a permission request of kind `spawn` lists, and from which
//! size on people are asked.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::CallId;

/// What a permission request is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PermissionKind {
    /// One call.
    #[default]
    Call,
    /// All calls of one reply that start agents.
    Spawn,
}

impl PermissionKind {
    /// Whether it is about one call, as every request of earlier versions.
    pub fn is_call(&self) -> bool {
        *self == Self::Call
    }
}

/// Agents of one definition, with the same model and tools, that calls of one reply would start.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SpawnGroup {
    /// The definition.
    pub agent: String,
    /// The model; absent if it is chosen when the run begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The tools each of them gets.
    pub tools: Vec<String>,
    /// The tools of the agent that asks which they do not get.
    pub lost: Vec<String>,
    /// What one of them is expected to use; absent without past runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forecast: Option<SpawnForecast>,
    /// The calls, one for each agent.
    pub calls: Vec<SpawnCall>,
}

/// One call that would start an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SpawnCall {
    /// Which call.
    pub call: CallId,
    /// The task in a few words.
    pub title: String,
    /// Names exactly this call: arguments, place, agent and session.
    pub digest: String,
}

/// What one run of an agent used, as the mean of its last runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SpawnForecast {
    /// Of how many runs.
    pub runs: u32,
    /// Input and output tokens.
    pub tokens: u64,
    /// US dollars; absent if prices are not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
}

/// How many agents one reply may start without a permission request.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SpawnThresholds {
    /// Agents of one reply.
    pub agents: u32,
    /// US dollars that they are expected to cost together; no threshold if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// How deep below the first agent they work; none but the limit of delegation if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub depth: Option<u32>,
}

impl Default for SpawnThresholds {
    fn default() -> Self {
        Self {
            agents: 8,
            cost_usd: None,
            depth: None,
        }
    }
}

impl SpawnThresholds {
    /// The lower one of each.
    #[must_use]
    pub fn narrowed_by(&self, other: &Self) -> Self {
        Self {
            agents: self.agents.min(other.agents),
            cost_usd: [self.cost_usd, other.cost_usd]
                .into_iter()
                .flatten()
                .reduce(f64::min),
            depth: [self.depth, other.depth].into_iter().flatten().min(),
        }
    }
}

//! Groups of settings, one per table of the file: models, permissions, sandbox, limits.

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use rooftree_protocol::{Network, PermissionMode, SandboxMode};
use rooftree_tools::PermissionRule;

use super::{ProviderSettings, SpawnSettings};

/// Models and how they are reached.
#[derive(Debug, Default)]
pub struct ModelSettings {
    /// The model for agents and sessions that name none, as it was written.
    pub default: Option<String>,
    /// Fallback models for when the chosen one is unavailable.
    pub fallbacks: Vec<String>,
    /// Aliases for models; tiers are such names too.
    pub aliases: BTreeMap<String, String>,
    /// How providers are reached, where it is not the usual way.
    pub providers: BTreeMap<String, ProviderSettings>,
}

/// What may happen without asking.
#[derive(Debug, Default)]
pub struct PermissionSettings {
    /// How much may happen without asking.
    pub mode: Option<PermissionMode>,
    /// Whether an agent that has read something from outside is trusted less.
    pub wary: Option<bool>,
    /// From which size on people are asked about agents that one reply starts.
    pub spawn: SpawnSettings,
    /// Rules that allow.
    pub allow: Vec<PermissionRule>,
    /// Rules that have a person asked.
    pub ask: Vec<PermissionRule>,
    /// Rules that refuse.
    pub deny: Vec<PermissionRule>,
}

/// The sandbox of commands.
#[derive(Debug, Default)]
pub struct SandboxSettings {
    /// Whether commands of agents run in the sandbox.
    pub mode: Option<SandboxMode>,
    /// The hosts sandboxed commands can reach.
    pub network: Option<Network>,
    /// What it may change besides the directory it works in.
    pub writable: Vec<PathBuf>,
    /// What it may read although it is usually hidden.
    pub readable: Vec<PathBuf>,
}

/// Limits per run.
#[derive(Debug, Default)]
pub struct LimitSettings {
    /// Turns per run.
    pub max_turns: Option<u32>,
    /// Time per run.
    pub timeout: Option<Duration>,
    /// US dollars per run.
    pub max_cost: Option<f64>,
    /// How deep delegation goes.
    pub depth: Option<u32>,
    /// Delegated runs of one session at the same time.
    pub children: Option<usize>,
    /// Delegated runs below one root at the same time.
    pub descendants: Option<usize>,
    /// Tokens of conversation above which a context is started anew.
    pub emergency_context: Option<u64>,
    /// How often the same calls may be repeated in a row.
    pub identical_calls: Option<u32>,
}

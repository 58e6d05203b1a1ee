//! The upper bounds of a run, recorded when it begins. They are a ceiling for every process that continues it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Confinement, Limits, Network, PermissionMode, SandboxMode, SpawnThresholds};

/// What a run may have at most, besides its rules: recorded in `run.started`.
///
/// Invariant: whoever continues the run, and however the settings, flags or definitions have changed, the run
/// has no more than this.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunBounds {
    /// The permission mode, before an agent or a person changed it for the session.
    pub mode: PermissionMode,
    /// The tools, by canonical name; not recorded if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// How the programs it runs are confined.
    pub sandbox: Confinement,
    /// Model replies.
    pub max_turns: u32,
    /// Seconds it may take. Zero: no limit.
    #[serde(default)]
    pub run_timeout_secs: u64,
    /// US dollars it may cost; no limit if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_cost_usd: Option<f64>,
    /// How deep it may delegate.
    pub depth: u32,
    /// How many agents one reply may start without asking; the defaults in runs of earlier versions.
    #[serde(default)]
    pub spawn: SpawnThresholds,
}

impl RunBounds {
    /// The bounds of a run that recorded none: at most mode `ask`, no network, default limits.
    pub fn unrecorded() -> Self {
        let limits = Limits::default();
        Self {
            mode: PermissionMode::Ask,
            tools: None,
            sandbox: Confinement {
                mode: SandboxMode::Auto,
                network: Network::Off,
                ..Confinement::default()
            },
            max_turns: limits.max_turns,
            run_timeout_secs: limits.run_timeout_secs,
            max_cost_usd: limits.max_cost_usd,
            depth: limits.depth,
            spawn: SpawnThresholds::default(),
        }
    }

    /// Caps these limits at the recorded bounds.
    #[must_use]
    pub fn limit(&self, limits: &Limits) -> Limits {
        let timeouts = [limits.run_timeout_secs, self.run_timeout_secs];
        let costs = [limits.max_cost_usd, self.max_cost_usd];
        Limits {
            max_turns: limits.max_turns.min(self.max_turns),
            run_timeout_secs: timeouts
                .into_iter()
                .filter(|timeout| *timeout > 0)
                .min()
                .unwrap_or(0),
            max_cost_usd: costs.into_iter().flatten().reduce(f64::min),
            depth: limits.depth.min(self.depth),
            ..limits.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_limit_is_the_lower_of_both_and_no_limit_is_the_highest() {
        let bounds = RunBounds {
            max_turns: 3,
            run_timeout_secs: 60,
            ..RunBounds::unrecorded()
        };
        let wide = Limits {
            max_turns: 9,
            max_cost_usd: Some(2.0),
            depth: 7,
            ..Limits::default()
        };
        let limited = bounds.limit(&wide);
        assert_eq!(
            (limited.max_turns, limited.run_timeout_secs, limited.depth),
            (3, 60, 1)
        );
        assert_eq!(limited.max_cost_usd, Some(2.0));
        let narrow = Limits {
            max_turns: 2,
            run_timeout_secs: 5,
            ..Limits::default()
        };
        let bounds = RunBounds {
            max_cost_usd: Some(0.5),
            ..bounds
        };
        let limited = bounds.limit(&narrow);
        assert_eq!((limited.max_turns, limited.run_timeout_secs), (2, 5));
        assert_eq!(limited.max_cost_usd, Some(0.5));
    }

    #[test]
    fn what_was_not_recorded_has_no_network_and_asks() {
        let bounds = RunBounds::unrecorded();
        assert_eq!(
            (bounds.mode, bounds.sandbox.network),
            (PermissionMode::Ask, Network::Off)
        );
        assert!(bounds.sandbox.mode >= SandboxMode::Auto);
    }
}

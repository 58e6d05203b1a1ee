//! From which size on people are asked about the agents that one reply starts: `permission.spawn_agents`,
//! `permission.spawn_cost`, `permission.spawn_depth`.

use rooftree_protocol::{Problem, SpawnThresholds};
use toml::Table;

use super::parse_value::SettingsReader;

/// What may be started without asking, as far as it is said.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SpawnSettings {
    /// Agents of one reply.
    pub agents: Option<u32>,
    /// US dollars they are expected to cost together.
    pub cost: Option<f64>,
    /// How deep below the first agent they work.
    pub depth: Option<u32>,
}

impl SpawnSettings {
    pub(super) fn read(reader: &SettingsReader<'_>, permission: &Table) -> Result<Self, Problem> {
        Ok(Self {
            agents: reader.value(permission, "spawn_agents")?,
            cost: reader.dollars(permission, "spawn_cost")?,
            depth: reader.value(permission, "spawn_depth")?,
        })
    }

    /// These, and where they say nothing, weaker ones.
    pub(super) fn or(self, weaker: Self) -> Self {
        Self {
            agents: self.agents.or(weaker.agents),
            cost: self.cost.or(weaker.cost),
            depth: self.depth.or(weaker.depth),
        }
    }

    /// The lower one of each.
    pub(super) fn narrowed_by(self, project: Self) -> Self {
        let narrow = self.thresholds().narrowed_by(&project.thresholds());
        Self {
            agents: project.agents.map(|_| narrow.agents).or(self.agents),
            cost: narrow.cost_usd,
            depth: narrow.depth,
        }
    }

    /// The keys that say more than these.
    pub(super) fn wider_in(self, project: Self) -> impl Iterator<Item = &'static str> {
        let own = self.thresholds();
        let is_wider = [
            (
                "permission.spawn_agents",
                project.agents.is_some_and(|agents| agents > own.agents),
            ),
            (
                "permission.spawn_cost",
                project.cost > own.cost_usd && own.cost_usd.is_some(),
            ),
            (
                "permission.spawn_depth",
                project.depth > own.depth && own.depth.is_some(),
            ),
        ];
        is_wider
            .into_iter()
            .filter_map(|(key, is_wider)| is_wider.then_some(key))
    }

    /// The thresholds in force.
    pub fn thresholds(self) -> SpawnThresholds {
        let usual = SpawnThresholds::default();
        SpawnThresholds {
            agents: self.agents.unwrap_or(usual.agents),
            cost_usd: self.cost.or(usual.cost_usd),
            depth: self.depth.or(usual.depth),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_only_lowers_what_is_started_without_asking() {
        let said = |agents, cost, depth| SpawnSettings {
            agents,
            cost,
            depth,
        };
        let own = said(Some(20), Some(1.0), None);
        let narrow = own.narrowed_by(said(Some(4), Some(0.5), Some(1)));
        assert_eq!(narrow, said(Some(4), Some(0.5), Some(1)));
        let wide = said(Some(50), Some(9.0), None);
        assert_eq!(own.narrowed_by(wide), own);
        let keys: Vec<_> = own.wider_in(wide).collect();
        assert_eq!(keys, ["permission.spawn_agents", "permission.spawn_cost"]);
        let unsaid = SpawnSettings::default();
        assert_eq!(unsaid.narrowed_by(wide).thresholds().agents, 8);
        assert_eq!(unsaid.narrowed_by(unsaid), unsaid);
    }
}

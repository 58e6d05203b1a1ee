//! Judges how many agents one reply may start: thresholds of the settings, and the rules `Task(agents:N)`,
//! `Task(cost:USD)` and `Task(depth:N)`.
//!
//! A rule about Task or about an agent is about single calls and says nothing here. One that allows raises its threshold
//! to N; one that asks or denies holds from N on.

use rooftree_protocol::{PermissionMode, SpawnThresholds};

use super::{PermissionRule, Policy};
use crate::session_tools::TASK;

/// The agents that the calls of one reply would start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpawnSize {
    /// How many.
    pub agents: u32,
    /// What they are expected to cost together, in US dollars, as far as it is known.
    pub cost_usd: f64,
    /// How deep below the first agent they would work.
    pub depth: u32,
}

/// What a policy says about agents that one reply would start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SpawnVerdict {
    /// They are few enough.
    Allow,
    /// A person must say.
    Ask {
        /// Why.
        reason: String,
        /// The rules that a yes for longer would make; none if an ask rule wants a person to be asked every time.
        rules: Vec<String>,
    },
    /// No, because …
    Deny(String),
}

/// Something that is counted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Measure {
    Agents,
    Cost,
    Depth,
}

impl Measure {
    const ALL: [Self; 3] = [Self::Agents, Self::Cost, Self::Depth];

    fn name(self) -> &'static str {
        match self {
            Self::Agents => "agents",
            Self::Cost => "cost",
            Self::Depth => "depth",
        }
    }

    fn of(self, size: &SpawnSize) -> f64 {
        match self {
            Self::Agents => f64::from(size.agents),
            Self::Cost => size.cost_usd,
            Self::Depth => f64::from(size.depth),
        }
    }

    fn threshold(self, thresholds: &SpawnThresholds) -> Option<f64> {
        match self {
            Self::Agents => Some(f64::from(thresholds.agents)),
            Self::Cost => thresholds.cost_usd,
            Self::Depth => thresholds.depth.map(f64::from),
        }
    }

    /// The number that a rule gives for it.
    fn in_rule(self, rule: &PermissionRule) -> Option<f64> {
        let (name, number) = rule.subject.as_deref()?.split_once(':')?;
        let is_it = rule.tool.eq_ignore_ascii_case(TASK.name)
            && name.trim().eq_ignore_ascii_case(self.name());
        let number = number.trim().trim_start_matches('$').parse::<f64>();
        number
            .ok()
            .filter(|number| is_it && number.is_finite() && *number >= 0.0)
    }

    /// The rule that allows exactly this much.
    fn rule(self, size: &SpawnSize) -> String {
        let amount = match self {
            Self::Cost => format!("{:.2}", (size.cost_usd * 100.0).ceil() / 100.0),
            Self::Agents | Self::Depth => self.of(size).to_string(),
        };
        format!("{}({}:{amount})", TASK.name, self.name())
    }

    fn words(self, size: &SpawnSize, limit: f64) -> String {
        match self {
            Self::Agents => format!(
                "the reply starts {} agents, and {limit} may be started without asking (permission.spawn_agents)",
                size.agents
            ),
            Self::Cost => format!(
                "the agents are expected to cost ${:.2}, and ${limit:.2} may be spent without asking \
                 (permission.spawn_cost)",
                size.cost_usd
            ),
            Self::Depth => format!(
                "the agents work at depth {}, and {limit} is allowed without asking (permission.spawn_depth)",
                size.depth
            ),
        }
    }
}

impl Policy {
    /// Judges the agents that one reply would start.
    pub fn judge_spawn(&self, size: &SpawnSize, thresholds: &SpawnThresholds) -> SpawnVerdict {
        if let Some(rule) = reached(&self.deny, size) {
            return SpawnVerdict::Deny(format!(
                "the deny rule `{rule}` refuses the agents of this reply, in every mode"
            ));
        }
        if let Some(rule) = reached(&self.ask, size) {
            return SpawnVerdict::Ask {
                reason: format!(
                    "the ask rule `{rule}` requires that the user is asked about the agents of this reply"
                ),
                rules: Vec::new(),
            };
        }
        if self.mode == PermissionMode::Bypass {
            return SpawnVerdict::Allow;
        }
        let exceeded = Measure::ALL.into_iter().filter_map(|measure| {
            let raised = self.allow.iter().filter_map(|rule| measure.in_rule(rule));
            let limit = raised.fold(measure.threshold(thresholds)?, f64::max);
            (measure.of(size) > limit).then_some((measure, limit))
        });
        let exceeded: Vec<_> = exceeded.collect();
        if exceeded.is_empty() {
            return SpawnVerdict::Allow;
        }
        let reasons = exceeded
            .iter()
            .map(|(measure, limit)| measure.words(size, *limit));
        SpawnVerdict::Ask {
            reason: reasons.collect::<Vec<_>>().join("; "),
            rules: exceeded
                .iter()
                .map(|(measure, _)| measure.rule(size))
                .collect(),
        }
    }

    /// Whether what agents are expected to cost has a say.
    pub fn heeds_spawn_cost(&self, thresholds: &SpawnThresholds) -> bool {
        let is_about_cost = |rule: &PermissionRule| Measure::Cost.in_rule(rule).is_some();
        self.ask.iter().chain(&self.deny).any(is_about_cost)
            || (thresholds.cost_usd.is_some() && self.mode != PermissionMode::Bypass)
    }
}

/// The first rule whose number is reached.
fn reached<'a>(rules: &'a [PermissionRule], size: &SpawnSize) -> Option<&'a PermissionRule> {
    rules.iter().find(|rule| {
        let mut measures = Measure::ALL.into_iter();
        measures.any(|measure| {
            measure
                .in_rule(rule)
                .is_some_and(|number| measure.of(size) >= number)
        })
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use rooftree_protocol::Effect;

    use super::*;
    use crate::policy::{PolicyRequest, PolicyVerdict};

    const SIZE: SpawnSize = SpawnSize {
        agents: 12,
        cost_usd: 1.234,
        depth: 1,
    };

    fn policy(allow: &[&str], ask: &[&str], deny: &[&str]) -> Policy {
        let rules = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect();
        Policy {
            allow: rules(allow),
            ask: rules(ask),
            deny: rules(deny),
            ..Policy::default()
        }
    }

    fn verdict(policy: &Policy) -> &'static str {
        match policy.judge_spawn(&SIZE, &SpawnThresholds::default()) {
            SpawnVerdict::Allow => "allow",
            SpawnVerdict::Ask { .. } => "ask",
            SpawnVerdict::Deny(_) => "deny",
        }
    }

    #[test]
    fn rules_about_single_calls_do_not_raise_a_threshold_and_rules_about_replies_do() {
        for (allow, wanted) in [
            (&[][..], "ask"),
            (&["*"], "ask"),
            (&["Task"], "ask"),
            (&["Task(explore)"], "ask"),
            (&["Task(*)"], "ask"),
            (&["Task(agents:11)"], "ask"),
            (&["Task(agents:12)"], "allow"),
            (&["Agent(agents: 20)"], "allow"),
            (&["Task(cost:50)"], "ask"),
            (&["Task(agents:NaN)"], "ask"),
        ] {
            assert_eq!(verdict(&policy(allow, &[], &[])), wanted, "{allow:?}");
        }
        assert_eq!(
            verdict(&policy(&["Task(agents:50)"], &[], &["Task(agents:12)"])),
            "deny"
        );
        assert_eq!(
            verdict(&policy(&["Task(agents:50)"], &["Task(cost:1)"], &[])),
            "ask"
        );
    }

    #[test]
    fn bypass_asks_only_where_a_rule_wants_it() {
        let bypass = |policy: Policy| Policy {
            mode: PermissionMode::Bypass,
            ..policy
        };
        assert_eq!(verdict(&bypass(policy(&[], &[], &[]))), "allow");
        assert_eq!(
            verdict(&bypass(policy(&[], &["Task(agents:10)"], &[]))),
            "ask"
        );
        assert_eq!(
            verdict(&bypass(policy(&[], &[], &["Task(agents:10)"]))),
            "deny"
        );
    }

    #[test]
    fn a_yes_for_longer_allows_what_was_shown_and_no_more() {
        let thresholds = SpawnThresholds {
            agents: 8,
            cost_usd: Some(1.0),
            depth: Some(0),
        };
        let asked = policy(&[], &[], &[]).judge_spawn(&SIZE, &thresholds);
        let SpawnVerdict::Ask { rules, reason } = asked else {
            panic!("{asked:?}")
        };
        assert_eq!(
            rules,
            ["Task(agents:12)", "Task(cost:1.24)", "Task(depth:1)"]
        );
        assert!(
            reason.contains("12 agents") && reason.contains("$1.23"),
            "{reason}"
        );
        let rules: Vec<&str> = rules.iter().map(String::as_str).collect();
        let later = policy(&rules, &[], &[]);
        assert_eq!(later.judge_spawn(&SIZE, &thresholds), SpawnVerdict::Allow);
        let more = SpawnSize { agents: 13, ..SIZE };
        assert_ne!(later.judge_spawn(&more, &thresholds), SpawnVerdict::Allow);
    }

    #[test]
    fn a_rule_about_replies_says_nothing_about_a_single_call() {
        let call = PolicyRequest {
            tool: "Task",
            subject: Some("explore"),
            input: None,
            effect: Effect::RemoteAction,
            cwd: Path::new("/"),
        };
        let allowed = policy(&["Task(agents:50)"], &[], &[]).judge(&call);
        assert!(matches!(allowed, PolicyVerdict::Ask(_)), "{allowed:?}");
        let denied = policy(&["Task"], &[], &["Task(agents:1)"]).judge(&call);
        assert!(matches!(denied, PolicyVerdict::Allow(_)), "{denied:?}");
    }
}

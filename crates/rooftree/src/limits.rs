//! Limits of a program's agents: turns, cost, time, depth of delegation, concurrency.

use std::time::Duration;

use rooftree_protocol::{AgentDefinition, ErrorCode, Problem, SpawnThresholds};

/// Bounds for all agents of a query or a runtime, whatever their definitions say. What is not set stays as it is.
///
/// ```
/// use rooftree::{AgentLimits, query};
/// use std::time::Duration;
///
/// let asked = query("Refactor it").limits(
///     AgentLimits::default().max_depth(2).max_children(4).max_cost(1.5).timeout(Duration::from_secs(600)),
/// );
/// # let _ = asked;
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[must_use = "limits hold for whatever they are given to"]
pub struct AgentLimits {
    pub(crate) turns: Option<u32>,
    pub(crate) cost: Option<f64>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) depth: Option<u32>,
    child_turns: Option<u32>,
    children: Option<usize>,
    descendants: Option<usize>,
    delegation_timeout: Option<Duration>,
    calls: Option<usize>,
    identical_calls: Option<u32>,
    result_chars: Option<usize>,
    retries: Option<u32>,
    inbox: Option<u64>,
    permission_timeout: Option<Duration>,
    spawn_agents: Option<u32>,
    spawn_cost: Option<f64>,
    spawn_depth: Option<u32>,
}

impl AgentLimits {
    /// Model replies per run of an agent that was not delegated. Default 200.
    pub fn max_turns(mut self, turns: u32) -> Self {
        self.turns = Some(turns);
        self
    }

    /// US dollars per run, with all it delegates, as far as prices are known. Usually without limit.
    pub fn max_cost(mut self, dollars: f64) -> Self {
        self.cost = Some(dollars);
        self
    }

    /// How long a run may take, waiting for people not counted. Usually without limit.
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.timeout = Some(limit);
        self
    }

    /// How deep delegation goes. With one, the default, sub-agents cannot delegate; with zero no agent can.
    pub fn max_depth(mut self, depth: u32) -> Self {
        self.depth = Some(depth);
        self
    }

    /// Model replies of a delegated run, where neither the call nor the agent says how many. Usually 30.
    pub fn max_child_turns(mut self, turns: u32) -> Self {
        self.child_turns = Some(turns);
        self
    }

    /// Delegated runs of one session that are at work at the same time. Usually 16.
    pub fn max_children(mut self, children: usize) -> Self {
        self.children = Some(children);
        self
    }

    /// Delegated runs below one root, at any depth, that are at work at the same time. Usually 64.
    pub fn max_descendants(mut self, descendants: usize) -> Self {
        self.descendants = Some(descendants);
        self
    }

    /// Agents that one reply may start without a permission request. Usually 8.
    pub fn spawn_without_asking(mut self, agents: u32) -> Self {
        self.spawn_agents = Some(agents);
        self
    }

    /// US dollars that the agents of one reply may be expected to cost without a permission request. Usually without
    /// limit.
    pub fn spend_without_asking(mut self, dollars: f64) -> Self {
        self.spawn_cost = Some(dollars);
        self
    }

    /// How deep below the first agent agents may be started without a permission request. Usually as deep as
    /// delegation goes.
    pub fn delegate_without_asking(mut self, depth: u32) -> Self {
        self.spawn_depth = Some(depth);
        self
    }

    /// How long a call waits for the run it delegated to before it goes on without it. Usually five minutes.
    pub fn delegation_timeout(mut self, limit: Duration) -> Self {
        self.delegation_timeout = Some(limit);
        self
    }

    /// Calls of one reply that run at the same time. Usually 16.
    pub fn max_concurrent_calls(mut self, calls: usize) -> Self {
        self.calls = Some(calls);
        self
    }

    /// The same call with the same input, in a row, before a run is ended. Usually 5.
    pub fn max_identical_calls(mut self, calls: u32) -> Self {
        self.identical_calls = Some(calls);
        self
    }

    /// Characters of one tool result that a model reads; the rest is kept. Usually 30,000.
    pub fn max_result_chars(mut self, characters: usize) -> Self {
        self.result_chars = Some(characters);
        self
    }

    /// Times a failed request to a model is made again. Usually 5.
    pub fn max_retries(mut self, retries: u32) -> Self {
        self.retries = Some(retries);
        self
    }

    /// Messages that wait in one inbox before posters are refused. Usually 10,000.
    pub fn max_inbox(mut self, messages: u64) -> Self {
        self.inbox = Some(messages);
        self
    }

    /// How long a question to a person waits before it is answered with no. Usually an hour.
    pub fn permission_timeout(mut self, limit: Duration) -> Self {
        self.permission_timeout = Some(limit);
        self
    }

    /// These limits, overridden by the others where those are set.
    pub(crate) fn overridden_by(self, others: Self) -> Self {
        Self {
            turns: others.turns.or(self.turns),
            cost: others.cost.or(self.cost),
            timeout: others.timeout.or(self.timeout),
            depth: others.depth.or(self.depth),
            child_turns: others.child_turns.or(self.child_turns),
            children: others.children.or(self.children),
            descendants: others.descendants.or(self.descendants),
            delegation_timeout: others.delegation_timeout.or(self.delegation_timeout),
            calls: others.calls.or(self.calls),
            identical_calls: others.identical_calls.or(self.identical_calls),
            result_chars: others.result_chars.or(self.result_chars),
            retries: others.retries.or(self.retries),
            inbox: others.inbox.or(self.inbox),
            permission_timeout: others.permission_timeout.or(self.permission_timeout),
            spawn_agents: others.spawn_agents.or(self.spawn_agents),
            spawn_cost: others.spawn_cost.or(self.spawn_cost),
            spawn_depth: others.spawn_depth.or(self.spawn_depth),
        }
    }

    /// How many agents one reply may start without a permission request.
    pub(crate) fn spawn_thresholds(&self) -> SpawnThresholds {
        let mut thresholds = SpawnThresholds::default();
        set(&mut thresholds.agents, self.spawn_agents);
        (thresholds.cost_usd, thresholds.depth) = (self.spawn_cost, self.spawn_depth);
        thresholds
    }

    /// Validates them: agents must be able to work within them at all.
    pub(crate) fn check(&self) -> Result<(), Problem> {
        let wrong = |what: &str, fix: &str| {
            Err(Problem::new(
                ErrorCode::InvalidConfig,
                format!("no agent can work with {what}"),
            )
            .fix(fix))
        };
        match self {
            Self { turns: Some(0), .. } => wrong("max_turns(0)", "a run takes one turn at least"),
            Self {
                child_turns: Some(0),
                ..
            } => wrong("max_child_turns(0)", "forbid delegation with max_depth(0)"),
            Self { calls: Some(0), .. } => {
                wrong("max_concurrent_calls(0)", "with one, calls run one by one")
            }
            Self { inbox: Some(0), .. } => {
                wrong("max_inbox(0)", "an inbox holds one message at least")
            }
            Self {
                cost: Some(dollars),
                ..
            } if dollars.is_nan() || *dollars < 0.0 => wrong(
                &format!("max_cost({dollars})"),
                "say how many dollars a run may cost, zero or more",
            ),
            Self {
                timeout: Some(Duration::ZERO),
                ..
            } => wrong("a timeout of zero", "leave it out for no limit"),
            _ => Ok(()),
        }
    }

    /// A definition within them. What a run of the program's own has besides is the runtime's to say.
    pub(crate) fn apply_to(&self, mut definition: AgentDefinition) -> AgentDefinition {
        let bounds = &mut definition.limits;
        let seconds = |limit: Duration| limit.as_secs().max(1);
        set(&mut bounds.child_turns, self.child_turns);
        set(&mut bounds.children, self.children);
        set(&mut bounds.descendants, self.descendants);
        set(
            &mut bounds.delegation_timeout_secs,
            self.delegation_timeout.map(seconds),
        );
        set(&mut bounds.concurrent_calls, self.calls);
        set(&mut bounds.identical_calls, self.identical_calls);
        set(&mut bounds.result_chars, self.result_chars);
        set(&mut bounds.retries, self.retries);
        set(&mut bounds.inbox, self.inbox);
        set(
            &mut bounds.permission_ttl_secs,
            self.permission_timeout.map(seconds),
        );
        definition
    }
}

fn set<T>(bound: &mut T, wanted: Option<T>) {
    if let Some(wanted) = wanted {
        *bound = wanted;
    }
}

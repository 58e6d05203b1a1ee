//! Puts the parts together: store, models, tools, agents, policy.

use std::{sync::Arc, time::Duration};

use rooftree_protocol::{ModelChoice, Network, PermissionMode, SandboxMode};
use rooftree_runtime::{
    Asking, Clock, Definitions, Hooks, Lookout, Options, Runtime, Secrets, SystemClock, delegation, exposure,
    memory::Shelves, people_tools, remember, skill_tools, workspace::Place,
};
use rooftree_store::Store;
use rooftree_tools::{
    Policy, Processes, Rule, SemanticSearch, Toolset,
    mcp::{Servers, Setup},
};

use crate::{
    confining::confining,
    environment::Private,
    minds::Minds,
    scenario, secrets,
    settings::{Settings, WARY},
    web::Online,
};

/// What was asked for on the command line; it goes before what the settings say.
#[derive(Debug, Default)]
pub struct Wishes {
    /// The model for agents and sessions that name none, wherever it was named.
    pub model: Option<ModelChoice>,
    /// Models to turn to.
    pub fallbacks: Vec<ModelChoice>,
    pub mode: Option<PermissionMode>,
    pub allow: Vec<Rule>,
    pub deny: Vec<Rule>,
    pub sandbox: Option<SandboxMode>,
    pub network: Option<Network>,
    pub max_turns: Option<u32>,
    pub timeout: Option<Duration>,
    pub max_cost: Option<f64>,
}

impl Wishes {
    /// What is left of them where somebody has pinned settings, which nobody can wish away; and what people
    /// should know about that.
    pub fn within(mut self, settings: &Settings) -> (Self, Vec<String>) {
        let mut remarks = Vec::new();
        let mut refuse = |key: &str, flag: &str, is_said: bool| {
            let is_refused = is_said && settings.is_pinned(key);
            if is_refused {
                remarks.push(format!("{flag} is ignored: {key} is pinned for this machine"));
            }
            is_refused
        };
        if refuse("permission.mode", "--permission-mode", self.mode.is_some()) {
            self.mode = None;
        }
        if refuse("permission.allow", "--allow", !self.allow.is_empty()) {
            self.allow.clear();
        }
        if refuse("sandbox.mode", "--sandbox", self.sandbox.is_some()) {
            self.sandbox = None;
        }
        if refuse("sandbox.network", "--network", self.network.is_some()) {
            self.network = None;
        }
        if refuse("limits.max_turns", "--max-turns", self.max_turns.is_some()) {
            self.max_turns = None;
        }
        if refuse("limits.timeout", "--timeout", self.timeout.is_some()) {
            self.timeout = None;
        }
        if refuse("limits.max_cost", "--max-cost", self.max_cost.is_some()) {
            self.max_cost = None;
        }
        (self, remarks)
    }
}

/// Everything that was read and found, before anything runs.
pub struct Plan {
    pub store: Arc<dyn Store>,
    pub minds: Arc<Minds>,
    pub definitions: Definitions,
    pub surroundings: Lookout,
    pub settings: Settings,
    pub wishes: Wishes,
    pub search: SemanticSearch,
    pub online: Online,
    pub asking: Asking,
    /// Directories of ours that no command sees, and where commands have their `/tmp`.
    pub private: Private,
    /// Where agents remember what does not belong to a project.
    pub memory: Shelves,
    /// Where working copies of children are kept.
    pub workspaces: Place,
    /// Where commands of agents find their way back.
    pub calls: exposure::Place,
    /// The servers whose tools agents have.
    pub servers: Setup,
    /// Who is asked before and after everything.
    pub hooks: Hooks,
    /// The widest permission mode that may be used.
    pub widest_mode: Option<PermissionMode>,
    /// What must never be kept, told or passed on.
    pub secrets: Arc<Secrets>,
    /// What messages of the runtime are marked with.
    pub mark: rooftree_runtime::Mark,
}

impl Plan {
    /// A runtime with everything in it.
    pub fn start(self) -> Runtime {
        let Self {
            store,
            minds,
            definitions,
            surroundings,
            settings,
            wishes,
            search,
            online,
            asking,
            private,
            memory,
            workspaces,
            calls,
            servers,
            mut hooks,
            widest_mode,
            secrets,
            mark,
        } = self;
        let sandbox = confining(wishes.sandbox, wishes.network, &settings, private);
        let servers = Servers::new(Setup { confining: sandbox.clone(), ..servers });
        let inheritance = secrets::inheritance(&secrets, &settings);
        let processes = Processes::new(|| SystemClock.entropy()).inheriting(inheritance.clone());
        let processes = Arc::new(processes);
        hooks.inheritance = inheritance;
        let mode = wishes.mode.or(settings.mode).unwrap_or_default();
        Runtime::start(Options {
            store,
            clock: Arc::new(SystemClock),
            catalog: minds.catalog.clone(),
            tools: needed(tools(&processes, search, online), asking),
            processes,
            definitions: scenario::with_agents(definitions),
            surroundings,
            policy: Policy {
                mode: widest_mode.map_or(mode, |widest| mode.min(widest)),
                allow: wishes.allow.into_iter().chain(settings.allow).collect(),
                ask: settings.ask,
                deny: wishes.deny.into_iter().chain(settings.deny).collect(),
                ..Policy::default()
            },
            wary: settings.wary.unwrap_or(WARY),
            sandbox,
            asking,
            default_model: wishes.model,
            fallbacks: wishes.fallbacks,
            max_turns: wishes.max_turns.or(settings.max_turns),
            run_timeout: wishes.timeout.or(settings.timeout).map(in_whole_seconds),
            max_cost_usd: wishes.max_cost.or(settings.max_cost),
            depth: None,
            memory,
            workspaces,
            checkers: Default::default(),
            naming: Arc::new(move |name| Ok(minds.resolve(name)?.choice)),
            hooks,
            servers: Arc::new(servers),
            secrets,
            mark,
            calls: Some(calls),
        })
    }
}

/// The tools there are.
pub fn tools(processes: &Arc<Processes>, search: SemanticSearch, online: Online) -> Toolset {
    let builtin = rooftree_tools::builtin_with(processes.clone(), search, &online.web, online.service);
    people_tools::added_to(&skill_tools::added_to(&remember::added_to(&delegation::tools::added_to(
        &builtin,
    ))))
}

/// Those of them that can do something here.
fn needed(tools: Toolset, asking: Asking) -> Toolset {
    if asking == Asking::Nobody { people_tools::without_questions(&tools) } else { tools }
}

/// The runtime counts whole seconds, and none of them would mean no limit.
fn in_whole_seconds(limit: Duration) -> Duration {
    Duration::from_secs(limit.as_millis().div_ceil(1_000).try_into().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wished() -> Wishes {
        Wishes {
            mode: Some(PermissionMode::Bypass),
            allow: vec![Rule::parse("Bash").unwrap()],
            deny: vec![Rule::parse("Write").unwrap()],
            sandbox: Some(SandboxMode::Off),
            network: Some(Network::On),
            max_turns: Some(9),
            timeout: Some(Duration::from_secs(9)),
            max_cost: Some(9.0),
            ..Wishes::default()
        }
    }

    #[test]
    fn nobody_wishes_away_what_is_pinned_and_all_else_is_left() {
        type Says = fn(&Wishes) -> bool;
        let keys: [(&str, Says); 7] = [
            ("permission.mode", |wishes| wishes.mode.is_some()),
            ("permission.allow", |wishes| !wishes.allow.is_empty()),
            ("sandbox.mode", |wishes| wishes.sandbox.is_some()),
            ("sandbox.network", |wishes| wishes.network.is_some()),
            ("limits.max_turns", |wishes| wishes.max_turns.is_some()),
            ("limits.timeout", |wishes| wishes.timeout.is_some()),
            ("limits.max_cost", |wishes| wishes.max_cost.is_some()),
        ];
        for (pinned, _) in keys {
            let settings = Settings { pinned: vec![pinned.to_owned()], ..Settings::default() };
            let (left, remarks) = wished().within(&settings);
            for (key, is_said) in keys {
                assert_eq!(is_said(&left), key != pinned, "{key} where {pinned} is pinned");
            }
            assert!(remarks.len() == 1 && remarks[0].contains(pinned), "{remarks:?}");
            assert_eq!(left.deny.len(), 1, "more may be denied");
            assert!(Wishes::default().within(&settings).1.is_empty(), "nothing was wished");
        }
        assert!(wished().within(&Settings::default()).1.is_empty());
    }
}

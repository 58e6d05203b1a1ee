//! Assembles the runtime from store, models, tools, agents and policy.

use std::{sync::Arc, time::Duration};

use rooftree_protocol::{ModelChoice, Network, PermissionMode, Problem, SandboxMode};
use rooftree_runtime::{
    AgentOptions, AgentRuntime, ApprovalSource, Assembly, Clock, LimitOverrides, ModelOptions,
    RightsOptions, SecretRedactor, SystemClock, ToolParts,
    assembly::{BaseTools, BuiltinTools, SessionTools},
    memory::MemoryDirs,
};
use rooftree_store::Store;
use rooftree_tools::{PermissionRule, Policy, SemanticSearchTool, mcp::McpSetup};

use crate::{
    configured_models::ConfiguredModels,
    demo_models,
    environment::Environment,
    external_agents,
    project_agents::ProjectAgents,
    sandbox::confining,
    secrets,
    settings::{Settings, WARY},
    web::WebAccess,
};

/// Command line overrides; they take precedence over the settings.
#[derive(Debug, Default)]
pub struct CliOverrides {
    /// The model for agents and sessions that name none, wherever it was named.
    pub model: Option<ModelChoice>,
    /// Fallback models.
    pub fallbacks: Vec<ModelChoice>,
    pub mode: Option<PermissionMode>,
    pub allow: Vec<PermissionRule>,
    pub deny: Vec<PermissionRule>,
    pub sandbox: Option<SandboxMode>,
    pub network: Option<Network>,
    pub max_turns: Option<u32>,
    pub timeout: Option<Duration>,
    pub max_cost: Option<f64>,
}

impl CliOverrides {
    /// Drops the flags whose settings are pinned by the administrator and cannot be overridden, and returns
    /// one remark per dropped flag.
    pub fn without_pinned(mut self, settings: &Settings) -> (Self, Vec<String>) {
        let mut remarks = Vec::new();
        let mut refuse = |key: &str, flag: &str, is_said: bool| {
            let is_refused = is_said && settings.is_pinned(key);
            if is_refused {
                remarks.push(format!(
                    "{flag} is ignored: {key} is pinned for this machine"
                ));
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

/// What `run`, `serve` and `demo` have read and validated, before anything runs.
pub struct RuntimePlan {
    pub store: Arc<dyn Store>,
    pub models: Arc<ConfiguredModels>,
    pub project: ProjectAgents,
    pub settings: Settings,
    pub overrides: CliOverrides,
    pub search: SemanticSearchTool,
    pub online: WebAccess,
    pub approvals: ApprovalSource,
    /// Where agents remember what does not belong to a project.
    pub memory: MemoryDirs,
    /// The servers whose tools agents have.
    pub servers: McpSetup,
    /// Redacts secrets from everything that is stored, shown or passed on.
    pub secrets: Arc<SecretRedactor>,
}

impl RuntimePlan {
    /// Starts a runtime with everything in it.
    pub fn start(self, environment: &Environment) -> Result<AgentRuntime, Problem> {
        // Programs of agents stay below this process, also if they kill what guards them. An older kernel goes without.
        let _ = rooftree_process::adopt_orphans();
        let Self {
            store,
            models,
            project,
            settings,
            overrides,
            search,
            online,
            approvals,
            memory,
            servers,
            secrets,
        } = self;
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let sandbox = confining(
            overrides.sandbox,
            overrides.network.clone(),
            &settings,
            environment.private(),
        );
        let parts = ToolParts {
            base: BaseTools::builtin(BuiltinTools {
                search,
                web: online.web,
                service: online.service,
            }),
            groups: groups(approvals),
            environment: secrets::inheritance(&secrets, &settings),
            servers,
            call_socket: Some(environment.calls()),
            ..ToolParts::default()
        };
        let surroundings = (!models.is_taped).then(rooftree_runtime::surroundings::reader);
        let assembly = Assembly {
            store,
            tools: parts.build(&clock, &sandbox)?,
            clock,
            secrets,
            mark: external_agents::mark(environment),
            limits: limits(&overrides, &settings),
            rights: RightsOptions {
                policy: policy(&overrides, &settings, project.widest_mode),
                wary: settings.permission.wary.unwrap_or(WARY),
                sandbox,
                approvals,
                spawn: settings.permission.spawn.thresholds(),
            },
            models: ModelOptions {
                default: overrides.model,
                set_later: models.set_later.clone(),
                fallbacks: overrides.fallbacks,
                catalog: models.catalog.clone(),
                resolver: Arc::new(move |name| Ok(models.resolve(name)?.choice)),
            },
            agents: AgentOptions {
                definitions: demo_models::with_agents(project.definitions),
                project_context: project.project_context,
                memory,
                workspaces: environment.workspaces(),
                checkers: Default::default(),
                hooks: project.hooks,
                surroundings,
            },
            services: Vec::new(),
        };
        Ok(assembly.start())
    }
}

/// Leaves out the tools that ask the user if no client can answer.
fn groups(approvals: ApprovalSource) -> Vec<SessionTools> {
    let groups = SessionTools::ALL.into_iter();
    let offered = groups.map(|group| match (approvals, group) {
        (ApprovalSource::Nobody, SessionTools::People) => SessionTools::PeopleWithoutQuestions,
        (_, group) => group,
    });
    offered.collect()
}

/// Precedence: command line, then settings, then the default; never more than the widest mode.
fn policy(
    overrides: &CliOverrides,
    settings: &Settings,
    widest_mode: Option<PermissionMode>,
) -> Policy {
    let mode = overrides
        .mode
        .or(settings.permission.mode)
        .unwrap_or_default();
    let both = |typed: &[PermissionRule], set: &[PermissionRule]| [typed, set].concat();
    Policy {
        mode: widest_mode.map_or(mode, |widest| mode.min(widest)),
        allow: both(&overrides.allow, &settings.permission.allow),
        ask: settings.permission.ask.clone(),
        deny: both(&overrides.deny, &settings.permission.deny),
        ..Policy::default()
    }
}

fn limits(overrides: &CliOverrides, settings: &Settings) -> LimitOverrides {
    LimitOverrides {
        max_turns: overrides.max_turns.or(settings.limits.max_turns),
        run_timeout: overrides
            .timeout
            .or(settings.limits.timeout)
            .map(in_whole_seconds),
        max_cost_usd: overrides.max_cost.or(settings.limits.max_cost),
        depth: settings.limits.depth,
        children: settings.limits.children,
        descendants: settings.limits.descendants,
        emergency_context: settings.limits.emergency_context,
        identical_calls: settings.limits.identical_calls,
    }
}

/// The runtime counts whole seconds, and none of them would mean no limit.
fn in_whole_seconds(limit: Duration) -> Duration {
    Duration::from_secs(
        limit
            .as_millis()
            .div_ceil(1_000)
            .try_into()
            .unwrap_or(u64::MAX),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wished() -> CliOverrides {
        CliOverrides {
            mode: Some(PermissionMode::Bypass),
            allow: vec![PermissionRule::parse("Bash").unwrap()],
            deny: vec![PermissionRule::parse("Write").unwrap()],
            sandbox: Some(SandboxMode::Off),
            network: Some(Network::On),
            max_turns: Some(9),
            timeout: Some(Duration::from_secs(9)),
            max_cost: Some(9.0),
            ..CliOverrides::default()
        }
    }

    #[test]
    fn nobody_wishes_away_what_is_pinned_and_all_else_is_left() {
        type Says = fn(&CliOverrides) -> bool;
        let keys: [(&str, Says); 7] = [
            ("permission.mode", |overrides| overrides.mode.is_some()),
            ("permission.allow", |overrides| !overrides.allow.is_empty()),
            ("sandbox.mode", |overrides| overrides.sandbox.is_some()),
            ("sandbox.network", |overrides| overrides.network.is_some()),
            ("limits.max_turns", |overrides| {
                overrides.max_turns.is_some()
            }),
            ("limits.timeout", |overrides| overrides.timeout.is_some()),
            ("limits.max_cost", |overrides| overrides.max_cost.is_some()),
        ];
        for (pinned, _) in keys {
            let settings = Settings {
                pinned: vec![pinned.to_owned()],
                ..Settings::default()
            };
            let (left, remarks) = wished().without_pinned(&settings);
            for (key, is_said) in keys {
                assert_eq!(
                    is_said(&left),
                    key != pinned,
                    "{key} where {pinned} is pinned"
                );
            }
            assert!(
                remarks.len() == 1 && remarks[0].contains(pinned),
                "{remarks:?}"
            );
            assert_eq!(left.deny.len(), 1, "more may be denied");
            assert!(
                CliOverrides::default()
                    .without_pinned(&settings)
                    .1
                    .is_empty(),
                "nothing was wished"
            );
        }
        assert!(wished().without_pinned(&Settings::default()).1.is_empty());
    }
}

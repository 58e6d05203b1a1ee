//! Options of a runtime in named parts: models, tools, agents, rights, limits. Plain data: the caller has read all
//! settings.

use std::{
    collections::BTreeMap,
    sync::{Arc, OnceLock},
    time::Duration,
};

use rooftree_process::EnvironmentFilter;
use rooftree_protocol::{ModelChoice, PermissionMode, Problem, SpawnThresholds};
use rooftree_providers::{ModelCatalog, catalog::ModelTier};
use rooftree_store::Store;
use rooftree_tools::{BackgroundProcesses, Policy, SandboxConfig, Toolset, mcp::McpServerPool};

use rooftree_workspace::WorkspaceConfig;

use crate::{
    Clock, ContextWatcher, Definitions, Hooks, MessageMark, SecretRedactor,
    checks::VerifierFunction, exposure::CallSocketConfig, memory::MemoryDirs,
    surroundings::SurroundingsReader,
};

/// Everything a runtime works with. [`Assembly::start`](crate::Assembly::start) makes it.
pub(crate) struct RuntimeOptions {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) secrets: Arc<SecretRedactor>,
    pub(crate) mark: MessageMark,
    pub(crate) models: ModelOptions,
    pub(crate) tools: RuntimeTools,
    pub(crate) agents: AgentOptions,
    pub(crate) rights: RightsOptions,
    pub(crate) limits: LimitOverrides,
}

/// The models agents ask.
pub struct ModelOptions {
    /// The models there are.
    pub catalog: ModelCatalog,
    /// The model for agents and sessions that name none.
    pub default: Option<ModelChoice>,
    /// The same if `default` is none, as soon as a person has named one while the runtime works.
    pub set_later: Arc<OnceLock<ModelChoice>>,
    /// Models to turn to, for one turn, when the chosen one cannot be had.
    pub fallbacks: Vec<ModelChoice>,
    /// Which model a name means, as a call may write it: `fast`, `sonnet`, `provider/model`.
    pub resolver: ModelResolver,
}

impl ModelOptions {
    /// These models, where names are written in full: `provider/model`.
    pub fn new(catalog: ModelCatalog) -> Self {
        Self {
            catalog,
            default: None,
            set_later: Arc::default(),
            fallbacks: Vec::new(),
            resolver: Arc::new(|name| name.parse()),
        }
    }

    /// The quick and cheap model for work in background: the one that a person called `fast`, else that of the same
    /// vendor; the usual one if there is none that can be asked. Never another vendor's that no person named.
    pub fn fast_model(
        usual: ModelChoice,
        catalog: &ModelCatalog,
        resolve: impl Fn(&str) -> Option<ModelChoice>,
    ) -> ModelChoice {
        let of_vendor = |vendor: &str| -> Option<ModelChoice> {
            let known = catalog.known().of_tier(vendor, ModelTier::Fast)?;
            known.id.parse().ok()
        };
        let named =
            resolve("fast").filter(|named| of_vendor(&named.provider).as_ref() != Some(named));
        let fast = named.or_else(|| of_vendor(&usual.provider));
        fast.filter(|fast| catalog.open(fast).is_ok())
            .unwrap_or(usual)
    }

    /// The model for agents and sessions that name none, as it is now.
    pub(crate) fn default_now(&self) -> Option<ModelChoice> {
        let set_later = || self.set_later.get().cloned();
        self.default.clone().or_else(set_later)
    }
}

/// Says which model a name means.
pub type ModelResolver = Arc<dyn Fn(&str) -> Result<ModelChoice, Problem> + Send + Sync>;

/// The tools agents call, and what those tools start.
pub struct RuntimeTools {
    /// The tools there are, before any agent's scope.
    pub all: Toolset,
    /// The background processes those tools start.
    pub processes: Arc<BackgroundProcesses>,
    /// The MCP servers; their tools are listed when an agent may use them.
    pub servers: Arc<McpServerPool>,
    /// Variables that programs started for agents inherit.
    pub environment: Arc<EnvironmentFilter>,
    /// Where commands of agents whose tools are skills find their way back; none: tools stay functions.
    pub call_socket: Option<CallSocketConfig>,
}

/// The agents, and what they find around them.
pub struct AgentOptions {
    /// The agents there are.
    pub definitions: Definitions,
    /// Rules, skills, instructions, verifiers. Looked at when a run begins.
    pub project_context: ContextWatcher,
    /// Where agents remember what does not belong to a project.
    pub memory: MemoryDirs,
    /// Where working copies of children are kept.
    pub workspaces: WorkspaceConfig,
    /// Functions of the program around that can check work, by name.
    pub checkers: BTreeMap<String, VerifierFunction>,
    /// What the program around it wants to be asked and told.
    pub hooks: Hooks,
    /// What models are told about the day and the project when a run begins; none: nothing.
    pub surroundings: Option<SurroundingsReader>,
}

impl AgentOptions {
    /// These agents in an empty project: no rules, no memory, no verifiers, no hooks.
    pub fn new(definitions: Definitions, workspaces: WorkspaceConfig) -> Self {
        Self {
            definitions,
            project_context: ContextWatcher::default(),
            memory: MemoryDirs::default(),
            workspaces,
            checkers: BTreeMap::new(),
            hooks: Hooks::default(),
            surroundings: None,
        }
    }
}

/// What agents may do.
pub struct RightsOptions {
    /// What may happen without asking.
    pub policy: Policy,
    /// Whether an agent that has read something from outside is trusted less in mode `auto`.
    pub wary: bool,
    /// How what agents run is confined.
    pub sandbox: SandboxConfig,
    /// Whether there is a client to ask.
    pub approvals: ApprovalSource,
    /// How many agents one reply may start without asking.
    pub spawn: SpawnThresholds,
}

impl RightsOptions {
    /// Everything is allowed without a sandbox, and there is no client to ask.
    pub fn unrestricted() -> Self {
        Self {
            policy: Policy {
                mode: PermissionMode::Bypass,
                ..Policy::default()
            },
            wary: true,
            sandbox: SandboxConfig::off(),
            approvals: ApprovalSource::Nobody,
            spawn: SpawnThresholds::default(),
        }
    }
}

/// Whether there is a client to ask for permission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApprovalSource {
    /// A client watches and answers with `Command::Permit`.
    Client,
    /// There is none: a call that needs approval is denied.
    Nobody,
}

/// Limits per run, instead of what definitions say.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LimitOverrides {
    /// Turns per run.
    pub max_turns: Option<u32>,
    /// Time per run.
    pub run_timeout: Option<Duration>,
    /// US dollars per run.
    pub max_cost_usd: Option<f64>,
    /// How deep delegation goes.
    pub depth: Option<u32>,
    /// Delegated runs of one session that are at work at the same time.
    pub children: Option<usize>,
    /// Delegated runs below one root that are at work at the same time.
    pub descendants: Option<usize>,
    /// Tokens of conversation above which a context is started anew, for definitions that do not say.
    pub emergency_context: Option<u64>,
    /// How often the same calls may be repeated in a row.
    pub identical_calls: Option<u32>,
}

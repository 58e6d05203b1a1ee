//! Configuration that queries and long-lived runtimes share, and how a runtime is started from it.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use rooftree_process::EnvironmentFilter;
use rooftree_protocol::{
    AgentDefinition, Confinement, ErrorCode, McpServer, ModelChoice, PermissionMode, Scope,
    Verifier,
};
use rooftree_providers::cassette::RecordingMode;
use rooftree_runtime::{
    ApprovalSource, Clock, Definitions, ProjectContext, RuntimeOptions, SystemClock,
    checks::VerifierFunction, memory::MemoryDirs,
};
use rooftree_tools::{
    BackgroundProcesses, Policy, Tool, Toolset,
    mcp::{self, McpServerPool},
};

use crate::{
    agent::Agent,
    agent_files,
    callbacks::CallbackSet,
    components,
    error::{Error, Result},
    limits::AgentLimits,
    models::{CustomProviders, ModelEnvironment, ModelRegistry},
    running::RunningRuntime,
    storage::StorageLocation,
    testing::Cassette,
};

/// The configuration so far. It is validated when the runtime starts, not when it is set.
pub(crate) struct RuntimeConfig {
    pub(crate) model: Option<String>,
    pub(crate) fallbacks: Vec<String>,
    pub(crate) added: CustomProviders,
    pub(crate) agents: Vec<Agent>,
    /// Files and directories to read agents from.
    pub(crate) agent_files: Vec<PathBuf>,
    pub(crate) tools: Vec<Arc<dyn Tool>>,
    pub(crate) mode: PermissionMode,
    pub(crate) confinement: Confinement,
    /// What programs may inherit, besides what holds no secret.
    pub(crate) inheritance: EnvironmentFilter,
    pub(crate) servers: BTreeMap<String, McpServer>,
    pub(crate) memory: Option<PathBuf>,
    pub(crate) verifiers: BTreeMap<String, Verifier>,
    /// Functions that check work.
    pub(crate) checkers: BTreeMap<String, VerifierFunction>,
    pub(crate) verifier_files: Vec<PathBuf>,
    pub(crate) allow: Vec<String>,
    pub(crate) ask: Vec<String>,
    pub(crate) deny: Vec<String>,
    pub(crate) limits: AgentLimits,
    pub(crate) cassette: Option<Cassette>,
    pub(crate) listeners: CallbackSet,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) cwd: Option<PathBuf>,
    /// Which agent begins, if one does.
    pub(crate) main: Option<MainAgent>,
    pub(crate) store: StorageLocation,
    pub(crate) approvals: ApprovalSource,
}

impl Default for RuntimeConfig {
    fn default() -> Self {
        Self {
            model: None,
            fallbacks: Vec::new(),
            added: CustomProviders::default(),
            agents: Vec::new(),
            agent_files: Vec::new(),
            tools: Vec::new(),
            mode: PermissionMode::default(),
            confinement: Confinement::default(),
            inheritance: EnvironmentFilter::default(),
            servers: BTreeMap::new(),
            memory: None,
            verifiers: BTreeMap::new(),
            checkers: BTreeMap::new(),
            verifier_files: Vec::new(),
            allow: Vec::new(),
            ask: Vec::new(),
            deny: Vec::new(),
            limits: AgentLimits::default(),
            cassette: None,
            listeners: CallbackSet::default(),
            clock: Arc::new(SystemClock),
            cwd: None,
            main: None,
            store: StorageLocation::Temporary,
            approvals: ApprovalSource::Nobody,
        }
    }
}

/// The agent that a query begins with, and what is said about it there.
pub(crate) struct MainAgent {
    pub(crate) name: String,
    pub(crate) tools: Scope,
    pub(crate) verifiers: Vec<String>,
}

/// Agents at work, and what is needed to open sessions for them.
pub(crate) struct StartedRuntime {
    pub(crate) runtime: RunningRuntime,
    pub(crate) definitions: Definitions,
    pub(crate) models: Arc<ModelRegistry>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) cwd: PathBuf,
}

impl RuntimeConfig {
    /// Validates everything and starts the runtime.
    pub(crate) fn start(mut self) -> Result<StartedRuntime> {
        let cwd = self.directory()?;
        if let Some(name) = self.servers.keys().next() {
            components::require_mcp(&format!("server `{name}` is to be used"))?;
        }
        self.limits.check()?;
        let secrets = Arc::new(components::known_secrets(&self.added.endpoints));
        let inheritance = components::inheritance(std::mem::take(&mut self.inheritance), &secrets);
        let names = components::recording_names(&cwd, &secrets);
        let tape = self
            .cassette
            .as_ref()
            .map_or_else(|| Ok(RecordingMode::Off), |cassette| cassette.tape(names))?;
        let around = ModelEnvironment {
            cwd: &cwd,
            clock: &self.clock,
            inheritance: &inheritance,
            tape,
        };
        let models = Arc::new(ModelRegistry::new(
            std::mem::take(&mut self.added),
            &around,
        )?);
        let entropy = self.clock.clone();
        let processes = Arc::new(
            BackgroundProcesses::new(move || entropy.entropy()).inheriting(inheritance.clone()),
        );
        let own = std::mem::take(&mut self.tools);
        let tools = components::with_tools(&processes, own, self.listeners.answerer.is_some())?;
        let given = std::mem::take(&mut self.verifiers);
        let verifiers = components::verifiers(given, &self.verifier_files)?;
        let definitions = self.definitions(&models, &tools)?;
        let project_context = ProjectContext {
            verifiers,
            ..ProjectContext::default()
        };
        let needed = components::AvailableComponents {
            project_context: &project_context,
            checkers: &self.checkers,
            memory: self.memory.as_ref(),
        };
        needed.check(&definitions)?;
        let default_model = self.default_model(&models, &definitions)?;
        let fallbacks = self
            .fallbacks
            .iter()
            .map(|name| models.resolve(name))
            .collect::<Result<_, _>>()?;
        let policy = Policy {
            mode: self.mode,
            allow: components::rules(&self.allow)?,
            ask: components::rules(&self.ask)?,
            deny: components::rules(&self.deny)?,
            followed: Vec::new(),
        };
        let (workspaces, call_socket) =
            (self.store.workspaces(), self.store.call_socket_location());
        let sandbox = self.store.confining(self.confinement.clone());
        let servers = McpServerPool::new(mcp::McpSetup {
            directory: cwd.clone(),
            configured: std::mem::take(&mut self.servers),
            confining: sandbox.clone(),
            ..mcp::McpSetup::default()
        });
        let (store, place) = self.store.open()?;
        self.listeners.is_alone = self.approvals == ApprovalSource::Nobody;
        let (hooks, line) = self.listeners.connect(inheritance);
        let is_answered = self.listeners.approver.is_some() || self.listeners.answerer.is_some();
        let approvals = if is_answered {
            ApprovalSource::Client
        } else {
            self.approvals
        };
        let model_resolver = models.clone();
        let options = RuntimeOptions {
            store,
            clock: self.clock.clone(),
            catalog: models.catalog.clone(),
            tools,
            processes,
            definitions: definitions.clone(),
            policy,
            wary: true,
            sandbox,
            approvals,
            default_model,
            fallbacks,
            max_turns: self.limits.turns,
            run_timeout: self.limits.timeout,
            max_cost_usd: self.limits.cost,
            depth: self.limits.depth,
            memory: MemoryDirs { user: self.memory },
            workspaces,
            checkers: self.checkers,
            model_resolver: Arc::new(move |name| model_resolver.resolve(name)),
            project_context: project_context.into(),
            hooks,
            servers: Arc::new(servers),
            secrets,
            mark: rooftree_runtime::MessageMark::random(self.clock.entropy()),
            call_socket,
        };
        let runtime = RunningRuntime::start(options, self.listeners, line, place);
        Ok(StartedRuntime {
            runtime,
            definitions,
            models,
            clock: self.clock,
            cwd,
        })
    }

    /// The working directory of tools, absolute: a session stores it, so it must not depend on where the
    /// process is later.
    fn directory(&self) -> Result<PathBuf> {
        let wanted = self.cwd.clone().unwrap_or_else(|| ".".into());
        std::path::absolute(&wanted)
            .ok()
            .filter(|path| path.is_dir())
            .ok_or_else(|| {
                Error::new(
                    ErrorCode::InvalidConfig,
                    format!("there is no directory {} to work in", wanted.display()),
                )
            })
    }

    fn definitions(&mut self, models: &Arc<ModelRegistry>, tools: &Toolset) -> Result<Definitions> {
        // Limits apply to each definition, hidden ones too: no agent must be reachable without them.
        let definitions = Definitions::default();
        let put = |definition: AgentDefinition| definitions.put(self.limits.apply_to(definition));
        for ours in Definitions::builtin().all() {
            put(Arc::unwrap_or_clone(ours));
        }
        for written in agent_files::read(&self.agent_files, models, tools)? {
            put(written);
        }
        for agent in std::mem::take(&mut self.agents) {
            put(agent.into_definition(models, tools)?);
        }
        if let Some(MainAgent {
            name,
            tools: scope,
            verifiers,
        }) = &self.main
        {
            let mut main = (*definitions.find(name)?).clone();
            if scope.allow.is_some() {
                main.tools.allow.clone_from(&scope.allow);
            }
            main.tools.deny.extend(scope.deny.iter().cloned());
            main.verifiers.extend(verifiers.iter().cloned());
            put(Agent::from(main).into_definition(models, tools)?);
        }
        Ok(definitions)
    }

    /// The default model of agents that name none. A query must have one; a runtime can do without until it is asked.
    fn default_model(
        &self,
        models: &ModelRegistry,
        definitions: &Definitions,
    ) -> Result<Option<ModelChoice>> {
        if let Some(name) = &self.model {
            return Ok(Some(models.resolve(name)?));
        }
        let has_own = |name: &str| {
            definitions
                .find(name)
                .is_ok_and(|agent| agent.model.is_some())
        };
        match (models.default(), &self.main) {
            (Ok(choice), _) => Ok(Some(choice)),
            (Err(problem), Some(main)) if !has_own(&main.name) => Err(problem.into()),
            (Err(_), _) => Ok(None),
        }
    }
}

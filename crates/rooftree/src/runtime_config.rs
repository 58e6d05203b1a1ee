//! Configuration that queries and long-lived runtimes share, and how a runtime is started from it.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use rooftree_process::EnvironmentFilter;
use rooftree_protocol::{AgentDefinition, ErrorCode, McpServer, ModelChoice};
use rooftree_providers::cassette::RecordingMode;
use rooftree_runtime::{
    AgentOptions, ApprovalSource, Assembly, Clock, Definitions, LimitOverrides, ModelOptions,
    ProjectContext, RightsOptions, SecretRedactor, SystemClock, ToolParts,
    assembly::{BaseTools, BuiltinTools, SessionTools},
    memory::MemoryDirs,
};
use rooftree_tools::{Tool, Toolset, mcp::McpSetup};

use crate::{
    agent::Agent,
    agent_files,
    callbacks::CallbackSet,
    components,
    config_parts::{AgentConfig, MainAgent, ModelConfig, RightsConfig},
    error::{Error, Result},
    limits::AgentLimits,
    models::{ModelEnvironment, ModelRegistry},
    running::RunningRuntime,
    storage::StorageLocation,
};

/// The configuration so far. It is validated when the runtime starts, not when it is set.
pub(crate) struct RuntimeConfig {
    pub(crate) models: ModelConfig,
    pub(crate) agents: AgentConfig,
    pub(crate) rights: RightsConfig,
    pub(crate) tools: Vec<Arc<dyn Tool>>,
    pub(crate) servers: BTreeMap<String, McpServer>,
    pub(crate) limits: AgentLimits,
    pub(crate) callbacks: CallbackSet,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) cwd: Option<PathBuf>,
    pub(crate) store: StorageLocation,
}

impl Default for RuntimeConfig {
    fn default() -> Self {
        Self {
            models: ModelConfig::default(),
            agents: AgentConfig::default(),
            rights: RightsConfig::default(),
            tools: Vec::new(),
            servers: BTreeMap::new(),
            limits: AgentLimits::default(),
            callbacks: CallbackSet::default(),
            clock: Arc::new(SystemClock),
            cwd: None,
            store: StorageLocation::Temporary,
        }
    }
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
        let secrets = Arc::new(components::known_secrets(&self.models.added.endpoints));
        let wished = std::mem::take(&mut self.rights.inheritance);
        let inheritance = components::inheritance(wished, &secrets);
        let models = self.model_registry(&cwd, &secrets, &inheritance)?;
        let sandbox = self.store.confining(self.rights.confinement.clone());
        let tools = self
            .tool_parts(&cwd, inheritance)
            .build(&self.clock, &sandbox)?;
        let given = std::mem::take(&mut self.agents.verifiers);
        let verifiers = components::verifiers(given, &self.agents.verifier_files)?;
        let definitions = self.definitions(&models, &tools.all)?;
        let project_context = ProjectContext {
            verifiers,
            ..ProjectContext::default()
        };
        let needed = components::AvailableComponents {
            project_context: &project_context,
            checkers: &self.agents.checkers,
            memory: self.agents.memory.as_ref(),
        };
        needed.check(&definitions)?;
        let model_options = self.model_options(&models, &definitions)?;
        let policy = self.rights.policy()?;
        let workspaces = self.store.workspaces();
        let (store, place) = self.store.open()?;
        self.callbacks.is_alone = self.rights.approvals == ApprovalSource::Nobody;
        let (hooks, channel) = self.callbacks.connect();
        let is_answered = self.callbacks.approver.is_some() || self.callbacks.answerer.is_some();
        let approvals = if is_answered {
            ApprovalSource::Client
        } else {
            self.rights.approvals
        };
        let assembly = Assembly {
            store,
            clock: self.clock.clone(),
            secrets,
            mark: rooftree_runtime::MessageMark::random(self.clock.entropy()),
            models: model_options,
            tools,
            agents: AgentOptions {
                definitions: definitions.clone(),
                project_context: project_context.into(),
                memory: MemoryDirs {
                    user: self.agents.memory,
                },
                workspaces,
                checkers: self.agents.checkers,
                hooks,
                surroundings: None,
            },
            rights: RightsOptions {
                policy,
                wary: true,
                sandbox,
                approvals,
                spawn: self.limits.spawn_thresholds(),
            },
            limits: LimitOverrides {
                max_turns: self.limits.turns,
                run_timeout: self.limits.timeout,
                max_cost_usd: self.limits.cost,
                depth: self.limits.depth,
                ..LimitOverrides::default()
            },
            services: Vec::new(),
        };
        Ok(StartedRuntime {
            runtime: RunningRuntime::start(assembly, self.callbacks, channel, place),
            definitions,
            models,
            clock: self.clock,
            cwd,
        })
    }

    fn model_registry(
        &mut self,
        cwd: &Path,
        secrets: &Arc<SecretRedactor>,
        inheritance: &Arc<EnvironmentFilter>,
    ) -> Result<Arc<ModelRegistry>> {
        let names = components::recording_names(cwd, secrets);
        let tape = self
            .models
            .cassette
            .as_ref()
            .map_or_else(|| Ok(RecordingMode::Off), |cassette| cassette.tape(names))?;
        let around = ModelEnvironment {
            cwd,
            clock: &self.clock,
            inheritance,
            tape,
        };
        let added = std::mem::take(&mut self.models.added);
        Ok(Arc::new(ModelRegistry::new(added, &around)?))
    }

    /// The built-in tools and the program's own, and the servers. No tool asks questions unless the program answers them.
    fn tool_parts(&mut self, cwd: &Path, environment: Arc<EnvironmentFilter>) -> ToolParts {
        let people = if self.callbacks.answerer.is_some() {
            SessionTools::People
        } else {
            SessionTools::PeopleWithoutQuestions
        };
        ToolParts {
            base: BaseTools::builtin(BuiltinTools {
                service: components::search_service(),
                ..BuiltinTools::default()
            }),
            groups: vec![SessionTools::Delegation, SessionTools::Memory, people],
            own: std::mem::take(&mut self.tools),
            environment,
            servers: McpSetup {
                directory: cwd.to_owned(),
                configured: std::mem::take(&mut self.servers),
                ..McpSetup::default()
            },
            call_socket: self.store.call_socket_location(),
        }
    }

    fn model_options(
        &self,
        models: &Arc<ModelRegistry>,
        definitions: &Definitions,
    ) -> Result<ModelOptions> {
        let default = self.default_model(models, definitions)?;
        let fallbacks = self.models.fallbacks.iter();
        let fallbacks = fallbacks.map(|name| models.resolve(name));
        let resolver = models.clone();
        Ok(ModelOptions {
            catalog: models.catalog.clone(),
            default,
            set_later: Arc::default(),
            fallbacks: fallbacks.collect::<Result<_, _>>()?,
            resolver: Arc::new(move |name| resolver.resolve(name)),
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
        for written in agent_files::read(&self.agents.files, models, tools)? {
            put(written);
        }
        for agent in std::mem::take(&mut self.agents.given) {
            put(agent.into_definition(models, tools)?);
        }
        if let Some(MainAgent {
            name,
            tools: scope,
            verifiers,
            system,
        }) = &self.agents.main
        {
            let mut main = (*definitions.find(name)?).clone();
            if scope.allow.is_some() {
                main.tools.allow.clone_from(&scope.allow);
            }
            main.tools.deny.extend(scope.deny.iter().cloned());
            main.verifiers.extend(verifiers.iter().cloned());
            if let Some(system) = system {
                main.prompt.clone_from(system);
            }
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
        if let Some(name) = &self.models.default {
            return Ok(Some(models.resolve(name)?));
        }
        let has_own = |name: &str| {
            definitions
                .find(name)
                .is_ok_and(|agent| agent.model.is_some())
        };
        match (models.default(), &self.agents.main) {
            (Ok(choice), _) => Ok(Some(choice)),
            (Err(problem), Some(main)) if !has_own(&main.name) => Err(problem.into()),
            (Err(_), _) => Ok(None),
        }
    }
}

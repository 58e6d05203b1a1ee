//! Loads settings, models, agents and servers for a run or a conversation, and starts the runtime.

use std::{
    cell::Cell,
    sync::{Arc, OnceLock},
};

use rooftree_protocol::{ModelChoice, PermissionMode, Problem};
use rooftree_runtime::{AgentRuntime, ContextWatcher, Definitions, Handle, SystemClock};
use rooftree_store::{SqliteStore, Store};
use rooftree_tools::SemanticSearchTool;

use super::{
    Arguments, PromptAnswerer, SelectedModels, SessionTarget, cli_overrides, prompt_answerer,
    select_model,
};
use crate::{
    assemble::{CliOverrides, RuntimePlan},
    configured_models::{ConfiguredModels, RecordingMode},
    embeddings,
    environment::Environment,
    mcp_servers::{self, ConfiguredServers},
    project_agents::{self, ProjectAgents},
    secrets,
    settings::{self, Settings},
    store_opening::StoreOpening,
    told_notices::ToldNotices,
    trust,
    web::WebAccess,
};

/// What was read and validated, before anything is stored or runs.
pub struct PreparedRun {
    pub settings: Settings,
    pub models: Arc<ConfiguredModels>,
    pub project: ProjectAgents,
    pub gathered: ConfiguredServers,
    pub answerer: PromptAnswerer,
    pub tape: Arc<RecordingMode>,
    overrides: CliOverrides,
    search: SemanticSearchTool,
    online: WebAccess,
    /// Nothing is put into it before all that was typed has been validated.
    store: OnceLock<Arc<dyn Store>>,
    opening: Cell<Option<StoreOpening>>,
    /// Flags that are ignored because their settings are pinned.
    pinned: Vec<String>,
}

/// The runtime, and what people should know before anything else.
pub struct PreparedRuntime {
    pub runtime: AgentRuntime,
    pub remarks: Vec<String>,
    /// What people were told in this project at earlier runs.
    pub told: ToldNotices,
    pub models: Arc<ConfiguredModels>,
    pub definitions: Definitions,
    /// Skills and commands that can be typed.
    pub context: ContextWatcher,
    pub gathered: ConfiguredServers,
}

impl PreparedRun {
    /// Reads all of it; asks whether the folder is trusted, if a person can be asked.
    pub async fn load(arguments: &Arguments, environment: &Environment) -> Result<Self, Problem> {
        let answerer = prompt_answerer(arguments, environment);
        // A person may think for long, and a database in use is not to be restored.
        let opening = (answerer != PromptAnswerer::Person).then(|| opening(environment));
        let mut settings = settings::load(environment)?;
        if let Some(typed) = &arguments.agents {
            settings.add_agent_providers(&[project_agents::typed_document(environment, typed)?]);
        }
        let (overrides, pinned) = cli_overrides(arguments)?.without_pinned(&settings);
        let tape = Arc::new(select_model::tape(arguments, environment, &settings)?);
        let models = Arc::new(ConfiguredModels::with_tape(environment, &settings, &tape)?);
        let search = embeddings::search(environment, &settings, &models, &tape)?;
        let online = WebAccess::of(&settings, &models.credentials, &models.catalog)?;
        if answerer == PromptAnswerer::Person {
            trust::trust_prompt::ask(environment, &project_agents::places(environment)).await?;
        }
        let opening = opening.unwrap_or_else(|| self::opening(environment));
        let project =
            ProjectAgents::find(environment, &settings, &models, arguments.agents.as_deref())?;
        let gathered = mcp_servers::gather(
            environment,
            &project_agents::places(environment),
            &settings,
            &arguments.mcp_config,
        )?;
        Ok(Self {
            store: OnceLock::new(),
            opening: Cell::new(Some(opening)),
            settings,
            models,
            project,
            gathered,
            answerer,
            tape,
            overrides,
            search,
            online,
            pinned,
        })
    }

    /// The permission mode that flags and settings give.
    pub fn mode(&self) -> PermissionMode {
        let mode = self.overrides.mode.or(self.settings.permission.mode);
        let mode = mode.unwrap_or_default();
        let widest = self.project.widest_mode;
        widest.map_or(mode, |widest| mode.min(widest))
    }

    /// A handle without agents, for what is stored before the runtime starts.
    pub fn control(&self, environment: &Environment) -> Result<Handle, Problem> {
        let store = self.store(environment)?;
        Ok(Handle::without_agents(store, Arc::new(SystemClock)))
    }

    fn store(&self, environment: &Environment) -> Result<Arc<dyn Store>, Problem> {
        if let Some(store) = self.store.get() {
            return Ok(store.clone());
        }
        let secrets = secrets::known_with(environment, &self.settings);
        let opened = self.opening.take().and_then(StoreOpening::finish);
        let opened = opened.unwrap_or_else(|| SqliteStore::open(&environment.database));
        let opened = secrets::redacting(opened, Arc::new(secrets))?;
        Ok(self.store.get_or_init(|| opened).clone())
    }

    /// Resolves the models that flags and settings name.
    pub async fn choose(&self, arguments: &Arguments) -> Result<SelectedModels, Problem> {
        select_model::choose(arguments, &self.settings, &self.models, &self.tape).await
    }

    /// The session with the model it will use; an error if there is none.
    pub async fn with_model(
        &self,
        target: SessionTarget,
        chosen: &SelectedModels,
        handle: &Handle,
    ) -> Result<(SessionTarget, ModelChoice), Problem> {
        let definitions = &self.project.definitions;
        let (named, default) = (chosen.named.as_ref(), chosen.default.as_ref());
        let model = target.model(definitions, named, default)?;
        self.models.catalog.prepare(&model).await;
        self.models.catalog.open(&model)?;
        let target = target
            .using(definitions, chosen.named.clone(), default, handle)
            .await?;
        Ok((target, model))
    }

    /// Starts the runtime.
    pub fn start(
        self,
        chosen: SelectedModels,
        model: &ModelChoice,
        environment: &Environment,
    ) -> Result<PreparedRuntime, Problem> {
        let store = self.store(environment)?;
        let limit = self.overrides.max_cost.or(self.settings.limits.max_cost);
        let unpriced = select_model::unpriced(&self.models.catalog.open(model)?, limit);
        // What describes the setup is said once in a project; what bounds this very run is said each time.
        let mut told = ToldNotices::read(environment);
        let about_setup = self
            .settings
            .remarks
            .iter()
            .chain(&self.project.remarks)
            .chain(&self.gathered.remarks)
            .chain(&chosen.remarks);
        let remarks = about_setup
            .filter(|remark| *remark == project_agents::GUARDS_OFF || told.is_new(remark))
            .cloned()
            .chain(self.pinned)
            .chain(unpriced)
            .collect();
        let secrets = Arc::new(secrets::known_besides(
            environment,
            &self.settings,
            self.gathered.confided(&self.project.definitions),
        ));
        let (models, definitions) = (self.models.clone(), self.project.definitions.clone());
        let context = self.project.project_context.clone();
        let plan = RuntimePlan {
            secrets,
            store,
            models: self.models,
            project: self.project,
            settings: self.settings,
            overrides: CliOverrides {
                fallbacks: chosen.fallbacks,
                model: chosen.default,
                ..self.overrides
            },
            search: self.search,
            online: self.online,
            approvals: self.answerer.in_runtime(),
            memory: environment.memory(),
            servers: self.gathered.setup(environment),
        };
        Ok(PreparedRuntime {
            runtime: plan.start(environment)?,
            remarks,
            told,
            models,
            definitions,
            context,
            gathered: self.gathered,
        })
    }
}

fn opening(environment: &Environment) -> StoreOpening {
    StoreOpening::begin(&environment.database)
}

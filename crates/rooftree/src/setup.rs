//! Everything a query and a long-lived runtime are told in the same words, and what is made of it.

use std::{path::PathBuf, sync::Arc, time::Duration};

use rooftree_protocol::{Confinement, ErrorCode, ModelChoice, PermissionMode, Problem, Scope};
use rooftree_runtime::{
    Asking, Clock, Definitions, Options, Secrets, SystemClock, delegation, exposure, memory::Shelves,
    people_tools, workspace,
};
use rooftree_store::{SqliteStore, Store};
use rooftree_tools::{
    Confining, Policy, Processes, Rule, SemanticSearch, Service, Tool, Toolset, Web, builtin_with,
    mcp::{self, Servers},
    toolset::Found,
};
use tempfile::TempDir;

use crate::{
    agent::Agent,
    error::{Error, Result},
    files,
    listeners::Listeners,
    models::{Added, Models},
    roof::Roof,
};

/// How much of a directory that is no repository is copied for a child that writes.
const COPY_BYTES: u64 = 500 * 1024 * 1024;
const COPY_FILES: u64 = 20_000;

/// What was asked for so far. Mistakes are told when it starts, not when they are made.
pub(crate) struct Setup {
    pub(crate) model: Option<String>,
    pub(crate) fallbacks: Vec<String>,
    pub(crate) added: Added,
    pub(crate) agents: Vec<Agent>,
    /// Files and directories to read agents from.
    pub(crate) agent_files: Vec<PathBuf>,
    pub(crate) tools: Vec<Arc<dyn Tool>>,
    pub(crate) mode: PermissionMode,
    pub(crate) confinement: Confinement,
    pub(crate) allow: Vec<String>,
    pub(crate) deny: Vec<String>,
    pub(crate) max_turns: Option<u32>,
    pub(crate) max_cost: Option<f64>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) max_depth: Option<u32>,
    pub(crate) listeners: Listeners,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) cwd: Option<PathBuf>,
    /// Which agent begins, and with which tools, if one does.
    pub(crate) main: Option<(String, Scope)>,
    pub(crate) store: Place,
    pub(crate) asking: Asking,
}

/// Where everything is kept.
pub(crate) enum Place {
    /// Nowhere for long: in a directory that goes when the work is done.
    Temporary,
    /// In this file.
    File(PathBuf),
    /// In a store somebody else has opened.
    Given(Arc<dyn Store>),
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            model: None,
            fallbacks: Vec::new(),
            added: Added::default(),
            agents: Vec::new(),
            agent_files: Vec::new(),
            tools: Vec::new(),
            mode: PermissionMode::default(),
            confinement: Confinement::default(),
            allow: Vec::new(),
            deny: Vec::new(),
            max_turns: None,
            max_cost: None,
            timeout: None,
            max_depth: None,
            listeners: Listeners::default(),
            clock: Arc::new(SystemClock),
            cwd: None,
            main: None,
            store: Place::Temporary,
            asking: Asking::Nobody,
        }
    }
}

/// Agents at work, and what is needed to open sessions for them.
pub(crate) struct Raised {
    pub(crate) roof: Roof,
    pub(crate) definitions: Definitions,
    pub(crate) models: Arc<Models>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) cwd: PathBuf,
}

impl Setup {
    /// Puts everything together and opens the doors.
    pub(crate) fn raise(mut self) -> Result<Raised> {
        let cwd = self.directory()?;
        let models = Arc::new(Models::new(std::mem::take(&mut self.added), &cwd, &self.clock));
        let entropy = self.clock.clone();
        let processes = Arc::new(Processes::new(move || entropy.entropy()));
        let tools =
            with_tools(&processes, std::mem::take(&mut self.tools), self.listeners.answerer.is_some())?;
        let definitions = self.definitions(&models, &tools)?;
        let default_model = self.default_model(&models, &definitions)?;
        let fallbacks = self.fallbacks.iter().map(|name| models.resolve(name)).collect::<Result<_, _>>()?;
        let policy = Policy {
            mode: self.mode,
            allow: rules(&self.allow)?,
            deny: rules(&self.deny)?,
            ..Policy::default()
        };
        let (workspaces, calls) = (self.store.workspaces(), self.store.calls());
        let sandbox = self.store.confining(self.confinement.clone());
        let servers =
            mcp::Setup { directory: cwd.clone(), confining: sandbox.clone(), ..mcp::Setup::default() };
        let (store, place) = self.store.open()?;
        self.listeners.is_alone = self.asking == Asking::Nobody;
        let (hooks, line) = self.listeners.connect();
        let is_answered = self.listeners.approver.is_some() || self.listeners.answerer.is_some();
        let asking = if is_answered { Asking::Client } else { self.asking };
        let naming = models.clone();
        let options = Options {
            store,
            clock: self.clock.clone(),
            catalog: models.catalog.clone(),
            tools,
            processes,
            definitions: definitions.clone(),
            policy,
            wary: true,
            sandbox,
            asking,
            default_model,
            fallbacks,
            max_turns: self.max_turns,
            run_timeout: self.timeout,
            max_cost_usd: self.max_cost,
            depth: self.max_depth,
            memory: Shelves::default(),
            workspaces,
            naming: Arc::new(move |name| naming.resolve(name)),
            surroundings: Default::default(),
            hooks,
            // Only those that agents bring along; nothing of them is remembered.
            servers: Arc::new(Servers::new(servers)),
            secrets: Arc::new(known_secrets()),
            calls,
        };
        let roof = Roof::raise(options, self.listeners, line, place);
        Ok(Raised { roof, definitions, models, clock: self.clock, cwd })
    }

    /// Where tools work: a session keeps it, so it must not depend on where the process is later.
    fn directory(&self) -> Result<PathBuf> {
        let wanted = self.cwd.clone().unwrap_or_else(|| ".".into());
        std::path::absolute(&wanted).ok().filter(|path| path.is_dir()).ok_or_else(|| {
            Error::new(
                ErrorCode::InvalidConfig,
                format!("there is no directory {} to work in", wanted.display()),
            )
        })
    }

    fn definitions(&mut self, models: &Arc<Models>, tools: &Toolset) -> Result<Definitions> {
        let mut definitions = Definitions::builtin();
        for written in files::read(&self.agent_files, models, tools)? {
            definitions = definitions.with(written);
        }
        for agent in std::mem::take(&mut self.agents) {
            definitions = definitions.with(agent.defined(models, tools)?);
        }
        if let Some((name, scope)) = &self.main {
            let mut main = (*definitions.find(name)?).clone();
            if scope.allow.is_some() {
                main.tools.allow.clone_from(&scope.allow);
            }
            main.tools.deny.extend(scope.deny.iter().cloned());
            definitions = definitions.with(Agent::from(main).defined(models, tools)?);
        }
        Ok(definitions)
    }

    /// The model for whoever names none. A query must have one; a runtime can do without until it is asked.
    fn default_model(&self, models: &Models, definitions: &Definitions) -> Result<Option<ModelChoice>> {
        if let Some(name) = &self.model {
            return Ok(Some(models.resolve(name)?));
        }
        let has_own = |name: &str| definitions.find(name).is_ok_and(|agent| agent.model.is_some());
        match (models.default(), &self.main) {
            (Ok(choice), _) => Ok(Some(choice)),
            (Err(problem), Some((name, _))) if !has_own(name) => Err(problem.into()),
            (Err(_), _) => Ok(None),
        }
    }
}

impl Place {
    /// Where working copies of children are. Beside a file; never in a directory that goes when the
    /// work is done, because a copy may hold work nobody has taken over.
    fn workspaces(&self) -> workspace::Place {
        let directory = match self {
            Self::File(file) => {
                std::path::absolute(file).unwrap_or_else(|_| file.clone()).with_file_name("workspaces")
            }
            Self::Temporary | Self::Given(_) => std::env::temp_dir().join("rooftree-workspaces"),
        };
        workspace::Place { directory, copy_limit_bytes: COPY_BYTES, copy_limit_files: COPY_FILES }
    }

    /// Where commands of agents find their way back: beside a file. The program that goes it is the
    /// `rooftree` of the PATH, for this one may be any program.
    fn calls(&self) -> Option<exposure::Place> {
        let Self::File(file) = self else { return None };
        let file = std::path::absolute(file).unwrap_or_else(|_| file.clone());
        Some(exposure::Place { directory: file.with_file_name("calls"), program: None })
    }

    /// No command sees the database, and each session has its own `/tmp` beside it.
    fn confining(&self, confinement: Confinement) -> Confining {
        let Self::File(file) = self else { return Confining { confinement, ..Confining::default() } };
        let file = std::path::absolute(file).unwrap_or_else(|_| file.clone());
        let beside = |ending: &str| {
            let mut name = file.clone().into_os_string();
            name.push(ending);
            PathBuf::from(name)
        };
        let scratch = Some(file.with_file_name("scratch"));
        let private = ["", "-wal", "-shm"].map(beside).into();
        Confining { confinement, private, scratch, ..Confining::default() }
    }

    fn open(self) -> Result<(Arc<dyn Store>, Option<TempDir>)> {
        match self {
            Self::Given(store) => Ok((store, None)),
            Self::File(path) => Ok((Arc::new(SqliteStore::open(path)?), None)),
            Self::Temporary => {
                let place = TempDir::with_prefix("rooftree-").map_err(|error| {
                    let problem =
                        Problem::new(ErrorCode::StoreFailed, "cannot make a directory for the session");
                    Error::from(problem.cause(error.to_string()))
                })?;
                let store = SqliteStore::open(place.path().join("rooftree.db"))?;
                Ok((Arc::new(store), Some(place)))
            }
        }
    }
}

/// The library has no settings: what it knows is in variables named like secrets.
fn known_secrets() -> Secrets {
    let variables = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    let named = Secrets::in_variables(variables).into_iter();
    Secrets::knowing(named.map(|(name, value)| (format!("value of {name}"), value)))
}

fn with_tools(processes: &Arc<Processes>, own: Vec<Arc<dyn Tool>>, can_answer: bool) -> Result<Toolset> {
    let service = Service::from_variables(|name| std::env::var(name).ok().filter(|value| !value.is_empty()));
    let builtin = builtin_with(processes.clone(), SemanticSearch::new(None), &Web::default(), service);
    let mut tools = people_tools::added_to(&delegation::tools::added_to(&builtin));
    if !can_answer {
        tools = people_tools::without_questions(&tools);
    }
    for tool in own {
        let name = tool.spec().name.as_str();
        if let Found::Tool(other) = tools.find(name) {
            let message =
                format!("there is a tool `{}` already, which `{name}` would hide", other.spec().name);
            return Err(Error::new(ErrorCode::InvalidConfig, message));
        }
        tools = Toolset::new(tools.iter().cloned().chain([tool]));
    }
    Ok(tools)
}

fn rules(texts: &[String]) -> Result<Vec<Rule>, Problem> {
    texts.iter().map(|text| Rule::parse(text)).collect()
}

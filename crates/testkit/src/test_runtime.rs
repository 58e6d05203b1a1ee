//! A whole runtime in a temporary directory, with a scripted model and a virtual clock.

use std::{collections::BTreeMap, path::Path, sync::Arc, time::Duration};

use rooftree_protocol::{
    Command, Event, EventBody, ModelChoice, Origin, Part, PermissionMode, Principal, SessionId,
    Surface,
    command::{Address, CommandReply, Delivery, NewSession},
    event::RunEnd,
};
use rooftree_providers::{
    Model, ModelCatalog, Provider,
    catalog::ModelPrice,
    scripted::{ScriptEntry, ScriptedModel},
};
use rooftree_runtime::{
    AgentOptions, AgentRuntime, ApprovalSource, Assembly, Clock, ContextWatcher, Definitions,
    EventFilter, Handle, LimitOverrides, MessageMark, ModelOptions, RightsOptions, Service,
    ToolParts, WorkspaceConfig, assembly::BaseTools, checks::VerifierFunction,
    exposure::CallSocketConfig, memory::MemoryDirs, redacting_store::RedactingStore,
};
use rooftree_store::{SqliteStore, Store};
use rooftree_tools::{Toolset, mcp::McpSetup};
use tempfile::TempDir;

use crate::{VirtualClock, transcript};

/// Timeout of a test in real time.
const PATIENCE: Duration = Duration::from_secs(20);

/// Creates a provider once the runtime's clock exists.
pub type MakeProviderFn = Box<dyn FnOnce(Arc<VirtualClock>) -> Arc<dyn Provider>>;

/// Builder of a test runtime.
pub struct TestRuntimeBuilder {
    /// The script of the model.
    pub entries: Vec<ScriptEntry>,
    /// The tools.
    pub tools: Toolset,
    /// The permission policy, the sandbox of programs (off by default), and whether a client can approve calls.
    pub rights: RightsOptions,
    /// Context window of the model in tokens.
    pub window: Option<u64>,
    /// A provider that replaces the script.
    pub provider: Option<MakeProviderFn>,
    /// Additional providers, each with its own models; the default model, if it is not the script; fallbacks.
    pub models: ModelOptions,
    /// Limits per run.
    pub limits: LimitOverrides,
    /// The price of the model.
    pub price: Option<ModelPrice>,
    /// The agent definitions.
    pub definitions: Definitions,
    /// Rules, skills and instructions.
    pub project_context: ContextWatcher,
    /// The MCP servers.
    pub servers: McpSetup,
    /// The hooks.
    pub hooks: rooftree_runtime::Hooks,
    /// What models are told about the day and the project; nothing by default.
    pub surroundings: Option<rooftree_runtime::surroundings::SurroundingsReader>,
    /// Verifier functions, by name.
    pub checkers: BTreeMap<String, VerifierFunction>,
    /// Services besides those of the runtime.
    pub services: Vec<Service>,
}

impl TestRuntimeBuilder {
    /// A builder with no tools, everything allowed, and no client to ask.
    pub fn new(entries: impl IntoIterator<Item = ScriptEntry>) -> Self {
        Self {
            entries: entries.into_iter().collect(),
            tools: Toolset::default(),
            rights: RightsOptions::unrestricted(),
            window: None,
            provider: None,
            models: ModelOptions::new(ModelCatalog::default()),
            limits: LimitOverrides::default(),
            price: None,
            definitions: Definitions::builtin(),
            project_context: ContextWatcher::default(),
            servers: McpSetup::default(),
            hooks: rooftree_runtime::Hooks::default(),
            surroundings: None,
            checkers: BTreeMap::new(),
            services: Vec::new(),
        }
    }

    /// Sets the tools.
    pub fn tools(mut self, tools: Toolset) -> Self {
        self.tools = tools;
        self
    }

    /// Sets these tools, plus those that delegate to other agents.
    pub fn with_delegation(mut self, tools: Toolset) -> Self {
        self.tools = rooftree_runtime::delegation::tools::with_tools(&tools);
        self
    }

    /// Adds an agent.
    pub fn agent(mut self, definition: rooftree_protocol::AgentDefinition) -> Self {
        self.definitions = self.definitions.with(definition);
        self
    }

    /// Sets the permission mode, with a client that can be asked.
    pub fn asking(mut self, mode: PermissionMode) -> Self {
        self.rights.policy.mode = mode;
        self.rights.approvals = ApprovalSource::Client;
        self
    }

    /// Sets the maximum number of turns.
    pub fn max_turns(mut self, turns: u32) -> Self {
        self.limits.max_turns = Some(turns);
        self
    }

    /// Builds the runtime in a new directory.
    pub fn build(self) -> TestRuntime {
        let directory = Arc::new(tempfile::tempdir().expect("a temporary directory"));
        self.build_in(directory, Arc::new(VirtualClock::seeded(7)))
    }

    fn build_in(self, directory: Arc<TempDir>, clock: Arc<VirtualClock>) -> TestRuntime {
        let file = directory.path().join("rooftree.db");
        let store: Arc<dyn Store> = Arc::new(SqliteStore::open(&file).expect("a database"));
        let sleeper = clock.clone();
        let model = ScriptedModel::from_replies(self.entries).expect("a script without flaws");
        let model = model.with_sleep(Arc::new(move |while_| sleeper.sleep(while_)));
        let (window, price) = (self.window.or(model.window()), self.price);
        let answering: Arc<dyn Provider> = match self.provider {
            Some(make) => make(clock.clone()),
            None => Arc::new(model.clone()),
        };
        let opener = Arc::new(move |choice: &ModelChoice| {
            let price = price.clone();
            Ok(Model {
                window,
                price,
                ..Model::new(choice, answering.clone())
            })
        });
        let story = || "scripted/story".parse().expect("a model name");
        let time: Arc<dyn Clock> = clock.clone();
        let parts = ToolParts {
            base: BaseTools::Given(self.tools),
            groups: Vec::new(),
            environment: self.hooks.inheritance.clone(),
            servers: self.servers,
            call_socket: Some(CallSocketConfig {
                directory: directory.path().join("calls"),
                program: None,
            }),
            ..ToolParts::default()
        };
        let tools = parts.build(&time, &self.rights.sandbox);
        let assembly = Assembly {
            store,
            tools: tools.expect("no tool hides another"),
            clock: time,
            secrets: Arc::default(),
            mark: MessageMark::derived(b"testkit"),
            models: ModelOptions {
                catalog: self.models.catalog.with("scripted", opener),
                default: self.models.default.or_else(|| Some(story())),
                ..self.models
            },
            agents: AgentOptions {
                definitions: self.definitions,
                project_context: self.project_context,
                memory: MemoryDirs {
                    user: Some(directory.path().join("memory")),
                },
                workspaces: WorkspaceConfig {
                    directory: directory.path().join("workspaces"),
                    copy_limit_bytes: 10_000_000,
                    copy_limit_files: 1_000,
                },
                checkers: self.checkers,
                hooks: self.hooks,
                surroundings: self.surroundings,
            },
            rights: self.rights,
            limits: self.limits,
            services: self.services,
        };
        let secrets = assembly.secrets.clone();
        let redacting = RedactingStore::new(assembly.store.clone(), secrets);
        let runtime = assembly.start();
        TestRuntime {
            store: Arc::new(redacting),
            handle: runtime.handle(),
            runtime,
            directory,
            clock,
            model,
        }
    }
}

/// A running test runtime.
pub struct TestRuntime {
    /// The handle for commands.
    pub handle: Handle,
    /// The virtual clock.
    pub clock: Arc<VirtualClock>,
    /// The scripted model, which records its requests.
    pub model: ScriptedModel,
    store: Arc<dyn Store>,
    directory: Arc<TempDir>,
    runtime: AgentRuntime,
}

/// The local owner of the library, who sends the commands of tests.
pub fn owner() -> Principal {
    Principal::local_owner(Surface::Library)
}

impl TestRuntime {
    /// The temporary directory; sessions work in it.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// The store, as agents see it: with secrets redacted.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// Posts to a new session of the lead agent.
    pub async fn post(&self, text: &str) -> SessionId {
        self.post_as("lead", text).await
    }

    /// Posts to a new session of an agent.
    pub async fn post_as(&self, agent: &str, text: &str) -> SessionId {
        let new = NewSession {
            agent: agent.into(),
            cwd: self.path().into(),
            name: None,
            model: None,
        };
        self.send(Address::Create(new), text, Delivery::Queue).await
    }

    /// Posts to a session.
    pub async fn post_to(&self, session: &SessionId, text: &str) {
        self.send(
            Address::Id {
                id: session.clone(),
            },
            text,
            Delivery::Queue,
        )
        .await;
    }

    /// Steers a running session with a message.
    pub async fn steer(&self, session: &SessionId, text: &str) {
        self.send(
            Address::Id {
                id: session.clone(),
            },
            text,
            Delivery::Steer,
        )
        .await;
    }

    /// Posts a silent message, which starts no run.
    pub async fn post_silent(&self, session: &SessionId, text: &str) {
        self.send(
            Address::Id {
                id: session.clone(),
            },
            text,
            Delivery::Silent,
        )
        .await;
    }

    async fn send(&self, to: Address, text: &str, delivery: Delivery) -> SessionId {
        let parts = vec![Part::text(text)];
        let post = Command::Post {
            to,
            parts,
            origin: Origin::User,
            key: None,
            delivery,
            context: None,
        };
        match self
            .handle
            .send(&owner(), post)
            .await
            .expect("the post is accepted")
        {
            CommandReply::Accepted { session, .. } => session,
            other => panic!("a post was answered with {other:?}"),
        }
    }

    /// Sends any command.
    pub async fn command(&self, command: Command) -> CommandReply {
        self.handle
            .send(&owner(), command)
            .await
            .expect("the command is accepted")
    }

    /// Waits for an event that satisfies a condition; it may have happened already.
    pub async fn wait_until(
        &self,
        session: &SessionId,
        what: &str,
        wanted: impl Fn(&Event) -> bool,
    ) -> Arc<Event> {
        let mut events = self.handle.subscribe(
            &owner(),
            EventFilter {
                session: session.clone(),
                after: 0,
            },
        );
        let search = async {
            loop {
                let event = events.next().await.expect("the journal can be read");
                if let EventBody::Notice { code, message, .. } = &event.body {
                    assert!(code != "agent_stopped", "the agent stopped: {message}");
                }
                if wanted(&event) {
                    return event;
                }
            }
        };
        match tokio::time::timeout(PATIENCE, search).await {
            Ok(event) => event,
            Err(_) => panic!(
                "never saw {what}; the story so far:\n{}",
                self.transcript(session).await
            ),
        }
    }

    /// Waits for an event of this type.
    pub async fn wait_for_event(&self, session: &SessionId, name: &str) -> Arc<Event> {
        self.wait_until(session, name, |event| event.body.name() == name)
            .await
    }

    /// Waits for the end of a session's first run.
    pub async fn wait_for_run(&self, session: &SessionId) -> RunEnd {
        self.wait_for_nth_run(session, 1).await
    }

    /// Waits for the end of a session's n-th run.
    pub async fn wait_for_nth_run(&self, session: &SessionId, count: usize) -> RunEnd {
        let seen = std::cell::Cell::new(0);
        let event = self
            .wait_until(session, "the end of the run", |event| {
                seen.set(seen.get() + usize::from(event.body.name() == "run.completed"));
                seen.get() == count
            })
            .await;
        match &event.body {
            EventBody::RunCompleted(end) => end.clone(),
            _ => unreachable!("only run.completed counts"),
        }
    }

    /// All events of a session's journal.
    pub async fn events(&self, session: &SessionId) -> Vec<Event> {
        self.store()
            .events(session, 0, 100_000)
            .await
            .expect("the journal can be read")
    }

    /// The sessions another one delegated to, oldest first.
    pub async fn children(&self, session: &SessionId) -> Vec<rooftree_protocol::Session> {
        let filter = rooftree_store::SessionFilter {
            parent: Some(session.clone()),
            ..Default::default()
        };
        let mut children = self
            .store()
            .sessions(filter)
            .await
            .expect("sessions can be listed");
        children
            .sort_by(|a, b| (a.created_at, &a.agent, &a.id).cmp(&(b.created_at, &b.agent, &b.id)));
        children
    }

    /// The events as a transcript, one line each.
    pub async fn transcript(&self, session: &SessionId) -> String {
        transcript::format_events(&self.events(session).await)
    }

    /// Asserts that the database satisfies all invariants.
    pub async fn verify(&self) {
        let report = self
            .store()
            .verify()
            .await
            .expect("the database can be checked");
        assert!(report.violations.is_empty(), "{:#?}", report.violations);
    }

    /// Stops the runtime and opens the same directory again, with another script and builder.
    pub async fn reopen(self, plan: TestRuntimeBuilder) -> TestRuntime {
        let (directory, clock) = (self.directory.clone(), self.clock.clone());
        drop(self.handle);
        self.runtime.stop().await;
        plan.build_in(directory, clock)
    }

    /// Simulates a crash: opens the same database again while the old runtime still exists. Its leases have
    /// expired, so the new one takes its claims, and later writes of the old one are refused.
    pub async fn crash(self, plan: TestRuntimeBuilder) -> TestRuntime {
        let (directory, clock) = (self.directory.clone(), self.clock.clone());
        clock.advance(Duration::from_secs(60));
        plan.build_in(directory, clock)
    }

    /// Stops the runtime and starts another one on the same database.
    pub async fn restart(self, plan: TestRuntimeBuilder) -> TestRuntime {
        let (directory, clock) = (self.directory.clone(), self.clock.clone());
        self.close().await;
        plan.build_in(directory, clock)
    }

    /// Opens a second runtime on the same database, as another process would.
    pub fn open_second(&self, plan: TestRuntimeBuilder) -> TestRuntime {
        plan.build_in(self.directory.clone(), self.clock.clone())
    }

    /// Resumes unfinished sessions, as a server does when it starts.
    pub async fn recover(&self) -> usize {
        self.runtime
            .recover()
            .await
            .expect("the store can be read")
            .len()
    }

    /// How many events were read from journals to wake agents.
    pub fn folded_events(&self) -> u64 {
        self.runtime.folded_events()
    }

    /// The services of the runtime, in the order of their start.
    pub fn services(&self) -> Vec<&'static str> {
        self.runtime.services()
    }

    /// Stops the runtime.
    pub async fn close(self) {
        drop(self.handle);
        self.runtime.stop().await;
    }
}

//! The measured side: a real runtime on a real database, with the system clock.

use std::{path::Path, sync::Arc, time::Duration};

use anyhow::{Result, bail};
use futures::{StreamExt, TryStreamExt, stream};
use rooftree_protocol::{
    AgentDefinition, Command, Event, EventBody, Limits, Origin, Part, Principal, RunStatus,
    ScheduleDraft, ScheduleInfo, Session, SessionId, Surface,
    command::{Address, CommandReply, Delivery, NewSession},
};
use rooftree_providers::{Model, ModelCatalog, catalog::ModelOpener};
use rooftree_runtime::{
    AgentOptions, AgentRuntime, Assembly, Clock, Definitions, EventFilter, Handle, LimitOverrides,
    MessageMark, ModelOptions, RightsOptions, ScheduleDefaults, Subscription, SystemClock,
    ToolParts, WorkspaceConfig, assembly::SessionTools, scheduler,
};
use rooftree_store::SqliteStore;

use crate::quick_model::{ModelBehavior, QuickModel};

/// Maximum concurrent posts: there are many clients, but not all post at the same instant.
const POSTERS: usize = 100;

/// A runtime in a directory.
pub struct BenchRuntime {
    pub handle: Handle,
    pub model: Arc<QuickModel>,
    runtime: AgentRuntime,
    cwd: std::path::PathBuf,
}

impl BenchRuntime {
    /// The file name of the database.
    pub const DATABASE: &str = "rooftree.db";

    /// Opens or creates the database in a directory, and starts the runtime. Only inside a tokio runtime.
    pub fn open(directory: &Path, model: Arc<QuickModel>) -> Result<Self> {
        let answering = model.clone();
        let opener = move |choice: &rooftree_protocol::ModelChoice| {
            Ok(Model {
                window: Some(10_000_000),
                ..Model::new(choice, answering.clone())
            })
        };
        Self::open_with(directory, model, Arc::new(opener))
    }

    /// The same with another opener; the quick model is not asked then.
    pub fn open_with(
        directory: &Path,
        model: Arc<QuickModel>,
        opener: ModelOpener,
    ) -> Result<Self> {
        Self::start(directory, model, Self::assembly(directory, opener, &[])?)
    }

    /// The same with a scheduler.
    pub fn open_scheduling(directory: &Path, model: Arc<QuickModel>) -> Result<Self> {
        let answering = model.clone();
        let opener = move |choice: &rooftree_protocol::ModelChoice| {
            Ok(Model::new(choice, answering.clone()))
        };
        let mut assembly = Self::assembly(directory, Arc::new(opener), &[])?;
        assembly.services.push(scheduler::service());
        Self::start(directory, model, assembly)
    }

    /// Adds a schedule of the agent `lead`.
    pub async fn add_schedule(&self, when: &str) -> Result<ScheduleInfo> {
        let draft = ScheduleDraft {
            when: Some(when.to_owned()),
            prompt: Some("Read some files.".to_owned()),
            ..ScheduleDraft::default()
        };
        let defaults = ScheduleDefaults {
            agent: "lead".to_owned(),
            cwd: self.cwd.clone(),
            zone: "UTC".to_owned(),
        };
        Ok(self.handle.add_schedule(&owner(), &draft, defaults).await?)
    }

    /// The same with agents that delegate to each other, without limits on concurrency.
    pub fn open_delegating(directory: &Path, opener: ModelOpener) -> Result<Self> {
        let mut assembly = Self::assembly(directory, opener, &[SessionTools::Delegation])?;
        let many = usize::MAX;
        let limits = Limits {
            concurrent_calls: many,
            children: many,
            descendants: many,
            ..Limits::default()
        };
        let lead = AgentDefinition {
            limits,
            ..AgentDefinition::new("lead")
        };
        assembly.agents.definitions = Definitions::builtin()
            .with(lead)
            .with(AgentDefinition::new("helper"));
        Self::start(directory, QuickModel::new(ModelBehavior::Read(0)), assembly)
    }

    fn assembly(
        directory: &Path,
        opener: ModelOpener,
        groups: &[SessionTools],
    ) -> Result<Assembly> {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let rights = RightsOptions::unrestricted();
        let parts = ToolParts {
            groups: groups.to_vec(),
            ..ToolParts::default()
        };
        Ok(Assembly {
            store: Arc::new(SqliteStore::open(directory.join(Self::DATABASE))?),
            tools: parts.build(&clock, &rights.sandbox)?,
            clock,
            secrets: Arc::default(),
            mark: MessageMark::derived(b"bench"),
            models: ModelOptions {
                default: "quick/model".parse().ok(),
                ..ModelOptions::new(ModelCatalog::default().with("quick", opener))
            },
            agents: AgentOptions::new(
                Definitions::builtin(),
                WorkspaceConfig {
                    directory: directory.join("workspaces"),
                    copy_limit_bytes: 0,
                    copy_limit_files: 0,
                },
            ),
            rights,
            limits: LimitOverrides {
                max_turns: Some(1_000_000),
                ..LimitOverrides::default()
            },
            services: Vec::new(),
        })
    }

    fn start(directory: &Path, model: Arc<QuickModel>, assembly: Assembly) -> Result<Self> {
        let runtime = assembly.start();
        Ok(Self {
            handle: runtime.handle(),
            model,
            runtime,
            cwd: directory.to_owned(),
        })
    }

    /// Posts to a new session.
    pub async fn post_new(&self) -> Result<SessionId> {
        let new = NewSession {
            agent: "lead".into(),
            cwd: self.cwd.clone(),
            name: None,
            model: None,
        };
        self.post(Address::Create(new), Delivery::Queue).await
    }

    /// Posts to an existing session.
    pub async fn post_to(&self, session: &SessionId) -> Result<SessionId> {
        self.post(
            Address::Id {
                id: session.clone(),
            },
            Delivery::Queue,
        )
        .await
    }

    /// Posts to so many new sessions.
    pub async fn post_to_many_new(&self, sessions: usize) -> Result<()> {
        let posts = stream::iter(0..sessions)
            .map(|_| self.post_new())
            .buffer_unordered(POSTERS);
        posts.try_for_each(|_| async { Ok(()) }).await
    }

    /// Waits until no session has unfinished work.
    pub async fn wait_until_idle(&self) -> Result<()> {
        while !self.handle.queries(&owner()).unfinished().await?.is_empty() {
            // Polling costs something too when there are many.
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        Ok(())
    }

    /// Posts a message that wakes no agent.
    pub async fn post_silent(&self, session: &SessionId) -> Result<SessionId> {
        self.post(
            Address::Id {
                id: session.clone(),
            },
            Delivery::Silent,
        )
        .await
    }

    async fn post(&self, to: Address, delivery: Delivery) -> Result<SessionId> {
        let parts = vec![Part::text("Read some files.")];
        let post = Command::Post {
            to,
            parts,
            origin: Origin::User,
            key: None,
            delivery,
            context: None,
        };
        match self.handle.send(&owner(), post).await? {
            CommandReply::Accepted { session, .. } => Ok(session),
            other => bail!("a post was answered with {other:?}"),
        }
    }

    /// Forks a session.
    pub async fn fork(&self, session: &SessionId) -> Result<Session> {
        let fork = Command::Fork {
            session: session.clone(),
            at: None,
            name: None,
            agent: None,
            message: None,
        };
        match self.handle.send(&owner(), fork).await? {
            CommandReply::Session(forked) => Ok(*forked),
            other => bail!("a fork was answered with {other:?}"),
        }
    }

    /// Subscribes to a session, from after an event on.
    pub fn watch(&self, session: &SessionId, after: u64) -> Subscription {
        self.handle.subscribe(
            &owner(),
            EventFilter {
                session: session.clone(),
                after,
            },
        )
    }

    /// Posts to a new session and waits for the end of its run, as a client does.
    pub async fn run(&self) -> Result<()> {
        let session = self.post_new().await?;
        wait_for_run_end(&mut self.watch(&session, 0))
            .await
            .map(drop)
    }

    /// Posts to a session and waits for the end of that run; returns the number of its last event.
    pub async fn run_in(&self, session: &SessionId, after: u64) -> Result<u64> {
        let mut events = self.watch(session, after);
        self.post_to(session).await?;
        wait_for_run_end(&mut events).await
    }

    /// Waits until so many runs have given their final answer and no work is left.
    pub async fn wait_for_runs(&self, runs: usize) -> Result<()> {
        loop {
            let is_over = self.model.finished_runs() >= runs;
            if is_over && self.handle.queries(&owner()).unfinished().await?.is_empty() {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    /// Stops the runtime.
    pub async fn close(self) {
        drop(self.handle);
        self.runtime.stop().await;
    }
}

/// Waits for the end of a run, which must have succeeded; returns the number of that event.
pub async fn wait_for_run_end(events: &mut Subscription) -> Result<u64> {
    loop {
        let event = events.next().await?;
        if let Some(number) = end_of_run(&event)? {
            return Ok(number);
        }
    }
}

fn end_of_run(event: &Event) -> Result<Option<u64>> {
    match &event.body {
        EventBody::RunCompleted(end) if end.status == RunStatus::Completed => Ok(event.id),
        EventBody::RunCompleted(end) => bail!("a run ended as {:?}: {:?}", end.status, end.error),
        EventBody::Notice { code, message, .. } if code == "agent_stopped" => {
            bail!("an agent stopped: {message}")
        }
        _ => Ok(None),
    }
}

/// The local owner of the library, who sends the commands of the benchmark.
fn owner() -> Principal {
    Principal::local_owner(Surface::Library)
}

//! Long-lived runtime: agents whose sessions are stored and can be resumed.

use std::sync::Arc;

use rooftree_client::{EmbeddedClient, RemoteClient, RemoteOptions};
use rooftree_protocol::PermissionId;
use rooftree_runtime::ApprovalSource;

use crate::{
    builder_methods::settings,
    error::Result,
    feed::Feed,
    permission::Decision,
    principal::owner,
    runtime_config::RuntimeConfig,
    session::{SessionFactory, SessionSelector},
    storage::Storage,
};

/// Agents that live as long as the program. Cheap to clone; stops when the last clone is dropped.
///
/// ```no_run
/// use rooftree::{Agent, Runtime};
///
/// # async fn live() -> rooftree::Result<()> {
/// let runtime = Runtime::builder()
///     .store("agents.db")
///     .model("anthropic/claude-sonnet-4-5")
///     .agent(Agent::new("researcher").describe("Reads documentation").tools(["Read", "Grep"]))
///     .build()
///     .await?;
///
/// let session = runtime.session("lead").latest_or_create().await?;
/// println!("{}", session.send("Where were we?").await?.result().await?);
/// runtime.stop().await;
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Runtime {
    factory: SessionFactory,
}

impl Runtime {
    /// A runtime to be put together.
    pub fn builder() -> RuntimeBuilder {
        RuntimeBuilder {
            setup: RuntimeConfig::default(),
        }
    }

    /// A session of this agent: say which one.
    pub fn session(&self, agent: impl Into<String>) -> SessionSelector {
        SessionSelector {
            factory: self.factory.clone(),
            agent: agent.into(),
            name: None,
            model: None,
        }
    }

    /// Everything that happens.
    pub fn events(&self) -> Feed {
        Feed(self.factory.runtime.clone())
    }

    /// Answers a question about a tool call that [`events`](Runtime::events) have told.
    pub async fn respond(&self, permission: &PermissionId, decision: Decision) -> Result<()> {
        self.factory.runtime.respond(permission, decision).await
    }

    /// A client of this runtime: the same trait as that of [`connect`](Runtime::connect), so that a program can be
    /// written once for both.
    pub fn client(&self) -> EmbeddedClient {
        let handle = self.factory.runtime.handle().clone();
        EmbeddedClient::new(handle, self.factory.clock.clone(), owner())
    }

    /// A client of a server (`rooftree serve`) in another process or on another machine.
    ///
    /// ```no_run
    /// use rooftree::{Runtime, client::{RemoteOptions, RuntimeClient}};
    ///
    /// # async fn far() -> rooftree::Result<()> {
    /// let server = RemoteOptions::new("http://127.0.0.1:7663").token("rt_…");
    /// for session in Runtime::connect(server)?.sessions(Default::default()).await? {
    ///     println!("{} {}", session.id, session.agent);
    /// }
    /// # Ok(()) }
    /// ```
    pub fn connect(server: impl Into<RemoteOptions>) -> Result<RemoteClient> {
        Ok(RemoteClient::new(server.into())?)
    }

    /// Stops: what is running goes on when the store is opened the next time. Returns once
    /// everything is kept and every listener was told.
    pub async fn stop(&self) {
        self.factory.runtime.stop().await;
    }
}

/// A [`Runtime`] to be put together.
#[must_use = "build() opens the doors"]
pub struct RuntimeBuilder {
    setup: RuntimeConfig,
}

settings!(RuntimeBuilder);

impl RuntimeBuilder {
    /// Keeps everything in a SQLite file, which is made if it is not there, or in a store that is open: a path, a
    /// [`SqliteStore`](crate::SqliteStore), or an `Arc<dyn Store>`. Without it everything is gone when the
    /// runtime stops.
    pub fn store(mut self, store: impl Into<Storage>) -> Self {
        self.setup.store = store.into().0;
        self
    }

    /// Lets permission requests wait for [`Runtime::respond`], an hour at most. Without this, and without
    /// [`approve`](RuntimeBuilder::approve), such calls are refused.
    pub fn ask_by_events(mut self) -> Self {
        self.setup.rights.approvals = ApprovalSource::Client;
        self
    }

    /// Starts the runtime, and resumes sessions that were interrupted.
    pub async fn build(self) -> Result<Runtime> {
        let started = self.setup.start()?;
        started.runtime.recover().await?;
        let (runtime, definitions) = (Arc::new(started.runtime), started.definitions);
        let (models, clock, cwd) = (started.models, started.clock, started.cwd);
        Ok(Runtime {
            factory: SessionFactory {
                runtime,
                definitions,
                models,
                clock,
                cwd,
            },
        })
    }
}

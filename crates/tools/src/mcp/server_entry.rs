//! One server of the pool: connects on demand, backs off after a failure, and disconnects when it is unused.

use std::{
    fs::DirBuilder,
    os::unix::fs::DirBuilderExt,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use rmcp::model::{CallToolRequestParams, CallToolResult};
use rooftree_protocol::{McpServer, SandboxMode};
use tokio::{sync::Mutex, time::Instant};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    Error,
    connect_params::ConnectParams,
    connection::{ListedTools, McpConnection, McpServerInfo},
    identity::home_of,
    pending_notices::PendingNotices,
    server_sandbox,
};
use crate::{SandboxConfig, ToolContext, WebConfig};

/// Maximum backoff after repeated failures.
const LONGEST_REST: Duration = Duration::from_secs(60);

/// Context shared by all servers of one runtime.
pub(super) struct McpServerContext {
    /// How programs are confined.
    pub(super) confining: SandboxConfig,
    /// Which hosts can be reached at all.
    pub(super) web: WebConfig,
    /// Where confined programs have their homes.
    pub(super) homes: Option<PathBuf>,
    /// Notices that were not shown yet.
    pub(super) remarks: Arc<PendingNotices>,
    /// How long a server may take to get ready.
    pub(super) startup: Duration,
    /// How long an unused server keeps running.
    pub(super) grace: Duration,
    pub(super) tokens: Option<PathBuf>,
    /// Tracker of all background tasks of servers.
    pub(super) task_tracker: TaskTracker,
    /// Fires when no server is needed any more.
    pub(super) closing: CancellationToken,
}

/// One server, and its number of users.
pub(super) struct McpServerEntry {
    name: String,
    server: McpServer,
    common: Arc<McpServerContext>,
    state: Mutex<State>,
    users: AtomicUsize,
    /// Number of leases taken so far.
    arrivals: AtomicU64,
}

#[derive(Default)]
struct State {
    connection: Option<Arc<McpConnection>>,
    /// Connections so far.
    opened: u64,
    /// Failures since the last call that was answered.
    failures: u32,
    why: String,
    rest_until: Option<Instant>,
}

/// Status of a server after a connection attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum McpServerStatus {
    /// It answers.
    Ready(McpServerInfo),
    /// It does not.
    Failed(Error),
}

/// Which list of tools is meant: that of the n-th connection, after so many changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ToolListVersion {
    connection: u64,
    changes: u64,
}

impl McpServerEntry {
    /// A place for a settled configuration. Nothing is started.
    pub(super) fn new(name: &str, server: McpServer, common: Arc<McpServerContext>) -> Self {
        Self {
            name: name.to_owned(),
            server,
            common,
            state: Mutex::default(),
            users: AtomicUsize::new(0),
            arrivals: AtomicU64::new(0),
        }
    }

    pub(super) fn server(&self) -> &McpServer {
        &self.server
    }

    /// The list of tools that holds now; none while it is not connected.
    pub(super) async fn stamp(&self) -> Option<ToolListVersion> {
        let state = self.state.lock().await;
        let connection = state
            .connection
            .as_ref()
            .filter(|connection| !connection.is_closed())?;
        Some(ToolListVersion {
            connection: state.opened,
            changes: connection.changes(),
        })
    }

    /// The tools it says it has, and which list that is.
    pub(super) async fn tools(&self) -> Result<(ListedTools, ToolListVersion), Error> {
        let connection = self.connection().await?;
        // Read before the list: a change on the way is one that is not in it.
        let changes = connection.changes();
        let listed = connection.tools().await?;
        let opened = self.state.lock().await.opened;
        Ok((
            listed,
            ToolListVersion {
                connection: opened,
                changes,
            },
        ))
    }

    /// Its self-description.
    pub(super) async fn about(&self) -> Result<McpServerInfo, Error> {
        Ok(self.connection().await?.about())
    }

    /// Makes one call, on a connection that is opened if there is none.
    pub(super) async fn call(
        &self,
        call: CallToolRequestParams,
        limit: Duration,
        context: &ToolContext,
    ) -> Result<(CallToolResult, Arc<McpConnection>), Error> {
        let connection = self.connected(context).await?;
        let result = connection.call(call, limit, context).await?;
        Ok((result, connection))
    }

    /// The connection for a call, opened if there is none.
    pub(super) async fn connected(
        &self,
        context: &ToolContext,
    ) -> Result<Arc<McpConnection>, Error> {
        tokio::select! {
            () = context.cancel.cancelled() => Err(Error::Cancelled),
            opened = self.connection() => opened,
        }
    }

    /// The connection. Concurrent callers wait for the same one while it is being opened.
    pub(super) async fn connection(&self) -> Result<Arc<McpConnection>, Error> {
        let mut state = self.state.lock().await;
        if self.common.closing.is_cancelled() {
            return Err(Error::Gone("this program is ending".to_owned()));
        }
        if let Some(connection) = state
            .connection
            .take_if(|connection| connection.is_closed())
        {
            let why = connection.exit_message().await;
            state.failed(
                why,
                if connection.has_served() {
                    FailureStreak::Once
                } else {
                    FailureStreak::Again
                },
            );
        }
        if let Some(connection) = &state.connection {
            return Ok(connection.clone());
        }
        let left = state
            .rest_until
            .map(|until| until.saturating_duration_since(Instant::now()));
        if let Some(left) = left.filter(|left| !left.is_zero()) {
            let seconds = left
                .as_millis()
                .div_ceil(1_000)
                .try_into()
                .unwrap_or(u64::MAX);
            return Err(Error::Resting {
                why: state.why.clone(),
                seconds,
            });
        }
        match self.open().await {
            Ok(connection) => {
                let connection = Arc::new(connection);
                state.opened += 1;
                state.connection = Some(connection.clone());
                Ok(connection)
            }
            Err(error) => {
                state.failed(error.to_string(), FailureStreak::Again);
                Err(error)
            }
        }
    }

    async fn open(&self) -> Result<McpConnection, Error> {
        let door = ConnectParams {
            name: &self.name,
            server: &self.server,
            confining: &self.common.confining,
            web: &self.common.web,
            home: self.home()?,
            remarks: &self.common.remarks,
            task_tracker: &self.common.task_tracker,
            timeout: self.common.startup,
            tokens: self.common.tokens.as_deref(),
        };
        tokio::select! {
            () = self.common.closing.cancelled() => Err(Error::Gone("this program is ending".to_owned())),
            opened = McpConnection::open(&door) => opened,
        }
    }

    /// The home of its program, which is made if it is not there; none if it is not confined.
    fn home(&self) -> Result<Option<PathBuf>, Error> {
        let is_confined =
            server_sandbox::mode(&self.common.confining, &self.server) != SandboxMode::Off;
        let homes = self
            .common
            .homes
            .as_ref()
            .filter(|_| is_confined && self.server.command.is_some());
        let Some(homes) = homes else { return Ok(None) };
        let home = homes.join(home_of(&self.name, &self.server));
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&home);
        made.map_err(|error| {
            Error::Unreachable(format!("make its home {}: {error}", home.display()))
        })?;
        Ok(Some(home))
    }

    /// Ends the connection. The next one who needs it opens another.
    pub(super) async fn close(&self) {
        if let Some(connection) = self.state.lock().await.connection.take() {
            connection.close();
        }
    }

    /// Needs the server until the lease is dropped.
    pub(super) fn lease(self: &Arc<Self>) -> McpServerLease {
        self.users.fetch_add(1, Ordering::SeqCst);
        self.arrivals.fetch_add(1, Ordering::SeqCst);
        McpServerLease(self.clone())
    }
}

/// Whether a failure follows on work that was done.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FailureStreak {
    /// It had worked: it may try again at once.
    Once,
    /// It did nothing but fail.
    Again,
}

impl State {
    fn failed(&mut self, why: String, blame: FailureStreak) {
        self.failures = if blame == FailureStreak::Once {
            0
        } else {
            self.failures + 1
        };
        let rest = match self.failures {
            0 => Duration::ZERO,
            failures => Duration::from_secs(1 << (failures - 1).min(6)).min(LONGEST_REST),
        };
        (self.why, self.rest_until) = (why, Some(Instant::now() + rest));
    }
}

/// Keeps a server running. When the last lease is dropped, the server is ended after a grace period.
pub struct McpServerLease(Arc<McpServerEntry>);

impl std::fmt::Debug for McpServerLease {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Lease").field(&self.0.name).finish()
    }
}

impl Drop for McpServerLease {
    fn drop(&mut self) {
        let slot = &self.0;
        if slot.users.fetch_sub(1, Ordering::SeqCst) > 1
            || tokio::runtime::Handle::try_current().is_err()
        {
            return;
        }
        let (slot, seen) = (slot.clone(), slot.arrivals.load(Ordering::SeqCst));
        slot.common.task_tracker.clone().spawn(async move {
            tokio::select! {
                () = tokio::time::sleep(slot.common.grace) => {}
                () = slot.common.closing.cancelled() => {}
            }
            if slot.users.load(Ordering::SeqCst) == 0
                && slot.arrivals.load(Ordering::SeqCst) == seen
            {
                slot.close().await;
            }
        });
    }
}

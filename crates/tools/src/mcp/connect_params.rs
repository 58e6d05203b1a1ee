//! Parameters needed to open a connection to a server.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use rooftree_protocol::McpServer;
use tokio_util::task::TaskTracker;

use super::pending_notices::PendingNotices;
use crate::{SandboxConfig, WebConfig};

/// All that is needed to open a connection.
pub(super) struct ConnectParams<'a> {
    pub(super) name: &'a str,
    pub(super) server: &'a McpServer,
    /// How programs are confined.
    pub(super) confining: &'a SandboxConfig,
    /// Which hosts can be reached at all.
    pub(super) web: &'a WebConfig,
    /// The home of a program that is confined; none: an empty one, for as long as it runs.
    pub(super) home: Option<PathBuf>,
    /// Where it is left what people should know.
    pub(super) remarks: &'a Arc<PendingNotices>,
    pub(super) task_tracker: &'a TaskTracker,
    /// How long it may take.
    pub(super) timeout: Duration,
    /// Where tokens of servers are kept.
    pub(super) tokens: Option<&'a Path>,
}

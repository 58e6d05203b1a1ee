//! All that must be known to open a connection to a server.

use std::{path::Path, sync::Arc, time::Duration};

use rooftree_protocol::McpServer;
use tokio_util::task::TaskTracker;

use super::remarks::Remarks;
use crate::Confining;

/// All that is needed to open a connection.
pub(super) struct Door<'a> {
    pub(super) name: &'a str,
    pub(super) server: &'a McpServer,
    /// How programs are confined.
    pub(super) confining: &'a Confining,
    /// Where it is left what people should know.
    pub(super) remarks: &'a Arc<Remarks>,
    pub(super) crew: &'a TaskTracker,
    /// How long it may take.
    pub(super) patience: Duration,
    /// Where tokens of servers are kept.
    pub(super) tokens: Option<&'a Path>,
}

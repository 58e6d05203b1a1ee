//! Configuration of the MCP servers of one runtime, also where they cannot be used.

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use rooftree_protocol::McpServer;

use crate::{SandboxConfig, WebConfig};

/// Configuration of the MCP servers of one runtime.
pub struct McpSetup {
    /// Where programs run whose configuration does not say where.
    pub directory: PathBuf,
    /// Default servers, for agents that have no list of their own.
    pub configured: BTreeMap<String, McpServer>,
    /// The file that tool definitions are pinned in; none: they are not pinned on disk.
    pub pins: Option<PathBuf>,
    /// The file that OAuth tokens are stored in; without it no login is possible.
    pub tokens: Option<PathBuf>,
    /// How the programs of servers are confined.
    pub confining: SandboxConfig,
    /// Which hosts programs with a list of hosts can reach at all.
    pub web: WebConfig,
    /// Where confined programs have homes that stay; none: an empty one for each start.
    pub homes: Option<PathBuf>,
    /// How long a server may take to get ready.
    pub startup: Duration,
    /// How long an unused server keeps running.
    pub grace: Duration,
}

impl Default for McpSetup {
    fn default() -> Self {
        Self {
            directory: PathBuf::from("/"),
            configured: BTreeMap::new(),
            pins: None,
            tokens: None,
            confining: SandboxConfig::off(),
            web: WebConfig::default(),
            homes: None,
            startup: Duration::from_secs(30),
            grace: Duration::from_secs(60),
        }
    }
}

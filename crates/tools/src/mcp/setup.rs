//! What the servers of one runtime are made of, whether or not they can be used.

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use rooftree_protocol::McpServer;

use crate::{SandboxConfig, WebConfig};

/// What the servers of one runtime are made of.
pub struct McpSetup {
    /// Where programs run whose configuration does not say where.
    pub directory: PathBuf,
    /// The servers that everybody has who is not given others.
    pub configured: BTreeMap<String, McpServer>,
    /// Where it is remembered what tools were; nowhere if absent.
    pub pins: Option<PathBuf>,
    /// Where tokens of servers are kept; without it nobody can log in.
    pub tokens: Option<PathBuf>,
    /// How the programs of servers are confined.
    pub confining: SandboxConfig,
    /// Which hosts programs with a list of hosts can reach at all.
    pub web: WebConfig,
    /// Where confined programs have homes that stay; none: an empty one for each start.
    pub homes: Option<PathBuf>,
    /// How long a server may take to get ready.
    pub startup: Duration,
    /// How long a server stays when nobody needs it.
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

//! Stub of the MCP module for builds without MCP support.
//!
//! It has the items of `mcp.rs` that a runtime needs, so that no other code has to know which of the two is built in.
//! Servers can be configured; an agent that may use one gets a notice that it cannot be used, and why.

use std::{collections::BTreeMap, sync::Arc};

use rooftree_protocol::McpServer;

use crate::Tool;

#[path = "mcp/expand.rs"]
mod expand;
#[path = "mcp/names.rs"]
#[allow(dead_code, reason = "no tool is named here")]
mod names;
#[path = "mcp/setup.rs"]
mod setup;

pub use expand::expand;
pub use names::{PREFIX, beginning, may_name};
pub use setup::McpSetup;

pub use crate::notice::Notice;

/// Names of the tools that list and read resources of servers.
pub const RESOURCE_TOOLS: [&str; 2] = ["ListMcpResources", "ReadMcpResource"];

/// The servers of one runtime, none of which can be used.
#[derive(Default)]
pub struct McpServerPool {
    configured: BTreeMap<String, McpServer>,
}

/// The tools an agent has from servers: none, and why.
#[derive(Default)]
pub struct McpAgentTools {
    /// None.
    pub tools: Vec<Arc<dyn Tool>>,
    /// What people should know.
    pub notices: Vec<Notice>,
    /// None: nothing runs.
    pub leases: Vec<McpServerLease>,
    /// Tells one set of tools from another.
    pub key: String,
}

/// A lease of a server; there is none here.
#[derive(Debug)]
pub struct McpServerLease;

impl McpServerPool {
    /// Only what is set up is kept.
    pub fn new(setup: McpSetup) -> Self {
        Self {
            configured: setup.configured,
        }
    }

    /// Default servers, for agents that have no list of their own.
    pub fn configured(&self) -> &BTreeMap<String, McpServer> {
        &self.configured
    }

    /// No tools, and a notice for each server that is wanted.
    pub async fn offer(&self, wanted: &BTreeMap<String, McpServer>) -> McpAgentTools {
        let enabled = wanted.iter().filter(|(_, server)| server.enabled);
        let notices = enabled.map(|(name, _)| Notice {
            code: "mcp_failed",
            message: format!(
                "MCP server `{name}` cannot be used: this program was built without MCP"
            ),
            hint: Some("build it with the cargo feature `mcp`".to_owned()),
        });
        McpAgentTools {
            notices: notices.collect(),
            ..McpAgentTools::default()
        }
    }

    /// There is nothing to end.
    pub async fn close(&self) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn whoever_may_use_a_server_is_told_that_it_cannot_be_used_and_what_to_do() {
        let server = || McpServer {
            command: Some("weather".into()),
            ..McpServer::default()
        };
        let off = McpServer {
            enabled: false,
            ..server()
        };
        let configured =
            BTreeMap::from([("weather".to_owned(), server()), ("off".to_owned(), off)]);
        let servers = McpServerPool::new(McpSetup {
            configured: configured.clone(),
            ..McpSetup::default()
        });
        assert_eq!(servers.configured().len(), 2);
        let offered = servers.offer(&configured).await;
        assert!(offered.tools.is_empty() && offered.leases.is_empty());
        let [notice] = offered.notices.as_slice() else {
            panic!("{:?}", offered.notices)
        };
        assert!(
            notice.message.contains("`weather`") && notice.message.contains("built without MCP")
        );
        assert!(notice.hint.as_ref().unwrap().contains("feature `mcp`"));
        servers.close().await;
    }

    #[test]
    fn it_has_the_words_of_what_it_stands_for() {
        assert_eq!(RESOURCE_TOOLS, crate::mcp::RESOURCE_TOOLS);
        assert_eq!(PREFIX, crate::mcp::PREFIX);
    }
}

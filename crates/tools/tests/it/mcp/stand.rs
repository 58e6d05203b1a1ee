//! A directory, a test server, and whoever calls its tools.

use std::{collections::BTreeMap, path::PathBuf};

use rooftree_protocol::McpServer;
use rooftree_tools::{
    ToolContext, ToolOutput, Toolset,
    mcp::{McpAgentTools, McpServerPool, McpSetup, Notice},
};
use serde_json::Value;

use crate::desk::{Desk, call};

/// The program all of these tests talk to.
pub fn program() -> PathBuf {
    PathBuf::from(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../testkit/mcp/server.py"
    ))
    .canonicalize()
    .unwrap()
}

/// The test server with these options.
pub fn server(options: &[&str]) -> McpServer {
    let options = options.iter().map(|option| (*option).to_owned());
    McpServer {
        command: Some("python3".into()),
        args: std::iter::once(program().display().to_string())
            .chain(options)
            .collect(),
        ..McpServer::default()
    }
}

pub struct Stand {
    pub servers: McpServerPool,
    pub desk: Desk,
    wanted: BTreeMap<String, McpServer>,
}

impl Stand {
    pub fn new(wanted: &[(&str, McpServer)]) -> Self {
        Self::with(wanted, |_| {})
    }

    pub fn with(wanted: &[(&str, McpServer)], change: impl FnOnce(&mut McpSetup)) -> Self {
        let desk = Desk::new();
        let mut setup = McpSetup {
            directory: desk.context.cwd.to_path_buf(),
            ..McpSetup::default()
        };
        change(&mut setup);
        let wanted = wanted
            .iter()
            .map(|(name, server)| ((*name).to_owned(), server.clone()))
            .collect();
        Self {
            servers: McpServerPool::new(setup),
            desk,
            wanted,
        }
    }

    pub async fn offer(&self) -> McpAgentTools {
        self.servers.offer(&self.wanted).await
    }

    /// The tools, which must be there without any remark.
    pub async fn tools(&self) -> Toolset {
        let offered = self.offer().await;
        assert_eq!(offered.notices, []);
        Toolset::new(offered.tools)
    }

    /// What people are told about the server.
    pub async fn notice(&self) -> Notice {
        let mut notices = self.offer().await.notices;
        assert_eq!(notices.len(), 1, "{notices:?}");
        notices.remove(0)
    }

    pub fn context(&self) -> ToolContext {
        self.desk.context.clone()
    }

    /// Calls a tool of the server `s`.
    pub async fn call(&self, tools: &Toolset, tool: &str, input: Value) -> ToolOutput {
        call(tools, &format!("mcp__s__{tool}"), input, self.context()).await
    }
}

//! The tools of an agent as far as they are known without starting anything: built-in ones, and those of MCP
//! servers as they were when last seen.

use std::{collections::BTreeMap, sync::Arc};

use rooftree_protocol::{AgentDefinition, ErrorCode, McpServer, Problem};
use rooftree_runtime::{Definitions, effective_rights};
use rooftree_tools::{
    Tool, Toolset,
    mcp::{self, McpServerPool, PREFIX},
    toolset::ToolLookup,
};

/// The tools that are known here.
pub struct KnownTools {
    /// All of them, whichever agent has them.
    pub all: Toolset,
    /// Those the agent has.
    pub own: Toolset,
    servers: BTreeMap<String, McpServer>,
    /// Servers whose tools are unknown.
    unseen: Vec<String>,
}

impl KnownTools {
    /// Those of an agent; `tools` are our own.
    pub fn of(
        tools: &Toolset,
        servers: &McpServerPool,
        definitions: &Definitions,
        definition: &AgentDefinition,
    ) -> Result<Self, Problem> {
        let mut everywhere = servers.configured().clone();
        let brought = definition
            .mcp_servers
            .iter()
            .filter(|(_, server)| !server.is_reference());
        everywhere.extend(brought.map(|(name, server)| (name.clone(), server.clone())));
        let usable = effective_rights::servers(servers, definitions, definition);
        let recall =
            |wanted: &BTreeMap<String, McpServer>| servers.recall(wanted).map_err(unreadable);
        let (seen, usable) = (recall(&everywhere)?, recall(&usable)?);
        let with = |remote: Vec<Arc<dyn Tool>>| Toolset::new(tools.iter().cloned().chain(remote));
        let own = effective_rights::tools(&with(usable.tools), definition);
        Ok(Self {
            all: with(seen.tools),
            own,
            servers: everywhere,
            unseen: seen.unseen,
        })
    }

    /// The same for an agent that has all of them.
    pub fn unscoped(self) -> Self {
        Self {
            own: self.all.clone(),
            ..self
        }
    }

    /// The tool of this name, whichever agent has it.
    pub fn find(&self, name: &str) -> Result<Arc<dyn Tool>, Problem> {
        match self.all.find(name) {
            ToolLookup::Tool(tool) => Ok(tool),
            ToolLookup::Unknown => Err(self.unknown(name)),
        }
    }

    fn unknown(&self, name: &str) -> Problem {
        let not_found = |message: String| Problem::new(ErrorCode::ToolNotFound, message);
        if !name.to_lowercase().starts_with(PREFIX) {
            return not_found(format!("there is no tool `{name}`")).fix(self.all.suggestion(name));
        }
        let is_meant = |server: &&String| {
            name.to_lowercase()
                .starts_with(&mcp::beginning(server).to_lowercase())
        };
        let Some(server) = self.servers.keys().find(is_meant) else {
            return not_found(format!("there is no MCP server with a tool `{name}`"))
                .fix("rooftree mcp list --offline shows the servers there are");
        };
        if self
            .servers
            .get(server)
            .is_some_and(|server| !server.enabled)
        {
            return not_found(format!("the MCP server `{server}` is switched off"))
                .fix("set its `enabled` to true");
        }
        if self.unseen.contains(server) {
            return not_found(format!(
                "it is not known yet whether there is a tool `{name}`"
            ))
            .cause(format!(
                "the MCP server `{server}` was never reached from here"
            ))
            .fix(format!(
                "rooftree mcp test {server} starts it and remembers its tools"
            ));
        }
        not_found(format!(
            "the MCP server `{server}` had no tool `{name}` when it was last seen"
        ))
        .fix(format!(
            "rooftree mcp tools {server} shows those it has now"
        ))
    }
}

fn unreadable(error: mcp::Error) -> Problem {
    Problem::new(
        ErrorCode::InvalidConfig,
        "cannot read what is remembered of tools of MCP servers",
    )
    .cause(error.to_string())
}

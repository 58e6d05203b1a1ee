//! Scope of MCP servers for an agent: its own, those of the agents above it, or the configured ones.
//!
//! A mandate holds names of tools and nothing else, so that no address and no secret of a server gets
//! into the journal. What a name stands for is looked up again where it is needed.

use std::collections::BTreeMap;

use rooftree_protocol::{AgentDefinition, Mandate, McpServer, Network};
use rooftree_tools::mcp::{McpServerPool, Notice, PREFIX, RESOURCE_TOOLS, beginning, may_name};

use crate::Definitions;

/// The servers an agent may use, and what people should know about them.
#[derive(Default)]
pub(crate) struct McpScope {
    pub(crate) servers: BTreeMap<String, McpServer>,
    pub(crate) notices: Vec<Notice>,
}

/// Only those it may use at least one tool of: the others are not started for it.
pub(crate) fn wanted(
    servers: &McpServerPool,
    definitions: &Definitions,
    definition: &AgentDefinition,
    mandate: Option<&Mandate>,
) -> McpScope {
    let is_mandated =
        mandate.is_none_or(|mandate| mandate.tools.iter().any(|tool| tool.starts_with(PREFIX)));
    let has_some = !servers.configured().is_empty() || !definition.mcp_servers.is_empty();
    if !is_mandated || (mandate.is_none() && !has_some) {
        return McpScope::default();
    }
    let mut wanted = McpScope::default();
    for above in mandate.iter().flat_map(|mandate| &mandate.above) {
        if let Ok(above) = definitions.find(&above.agent) {
            wanted.add(servers, &above);
        }
    }
    wanted.notices.clear();
    wanted.add(servers, definition);
    wanted
        .servers
        .retain(|name, _| is_usable(name, definition, mandate));
    let limit = limit(definitions, definition, mandate);
    for server in wanted
        .servers
        .values_mut()
        .filter(|server| server.command.is_some())
    {
        let own = server
            .network
            .take()
            .unwrap_or(Network::On)
            .narrowed(&limit);
        server.network = Some(own).filter(|own| *own != Network::On);
    }
    wanted
}

/// The network limit of an agent's MCP server programs: that of its definition and those of the agents above, unless
/// it works with rights of its own.
fn limit(
    definitions: &Definitions,
    definition: &AgentDefinition,
    mandate: Option<&Mandate>,
) -> Network {
    let mut limit = definition.network.clone().unwrap_or(Network::On);
    let Some(mandate) = mandate else { return limit };
    let mandated = mandate.sandbox.as_ref().map(|sandbox| &sandbox.network);
    for above in mandate
        .above
        .iter()
        .filter_map(|above| definitions.find(&above.agent).ok())
    {
        let held_to = above.network.as_ref();
        // What a mandate does not hold to, it was not narrowed by.
        if let Some(held_to) =
            held_to.filter(|own| mandated.is_none_or(|mandated| mandated.is_within(own)))
        {
            limit = limit.narrowed(held_to);
        }
    }
    limit
}

impl McpScope {
    /// An agent that names servers has those and no others.
    fn add(&mut self, servers: &McpServerPool, definition: &AgentDefinition) {
        if definition.mcp_servers.is_empty() {
            self.servers.extend(servers.configured().clone());
        }
        for (name, own) in &definition.mcp_servers {
            match servers.configured().get(name) {
                _ if !own.is_reference() => drop(self.servers.insert(name.clone(), own.clone())),
                Some(configured) => drop(self.servers.insert(name.clone(), configured.clone())),
                None => self.notices.push(Notice {
                    code: "mcp_unknown",
                    message: format!(
                        "agent `{}` names the MCP server `{name}`, which is not set up",
                        definition.name
                    ),
                    hint: Some(format!("rooftree mcp add {name} -- COMMAND")),
                }),
            }
        }
    }
}

/// MCP servers that an agent may use because its own definition names them, as tool list entries.
pub(crate) fn brought(definition: &AgentDefinition, asker: &AgentDefinition) -> Vec<String> {
    let names = definition.mcp_servers.keys();
    // A server that the caller is denied is denied to its delegates.
    names
        .filter(|name| !is_denied(name, asker))
        .map(|name| entry(name))
        .collect()
}

/// MCP servers and resource tools that an agent with rights of its own may use, as tool list entries.
pub(crate) fn own(servers: &McpServerPool, definition: &AgentDefinition) -> Vec<String> {
    let mut own = McpScope::default();
    own.add(servers, definition);
    let reading = RESOURCE_TOOLS
        .iter()
        .filter(|_| !own.servers.is_empty())
        .map(|name| (*name).to_owned());
    own.servers
        .keys()
        .map(|name| entry(name))
        .chain(reading)
        .collect()
}

/// All tools of a server, as an entry of a list of tools.
fn entry(server: &str) -> String {
    format!("{}*", beginning(server))
}

fn is_usable(name: &str, definition: &AgentDefinition, mandate: Option<&Mandate>) -> bool {
    let listed = |list: &[String]| list.iter().any(|entry| may_name(entry, name));
    definition.tools.allow.as_deref().is_none_or(listed)
        && mandate.is_none_or(|mandate| listed(&mandate.tools))
        && !is_denied(name, definition)
}

/// Whether all tools of a server are taken away.
fn is_denied(name: &str, definition: &AgentDefinition) -> bool {
    let beginning = beginning(name).to_lowercase();
    let all = [
        "*".to_owned(),
        format!("{PREFIX}*"),
        format!("{beginning}*"),
        beginning.trim_end_matches('_').to_owned(),
    ];
    definition
        .tools
        .deny
        .iter()
        .any(|entry| all.contains(&entry.to_lowercase()))
}

#[cfg(test)]
mod tests {
    use rooftree_tools::mcp::McpSetup;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_servers_program_reaches_no_more_than_everybody_above_may() {
        let list = |hosts: &str| hosts.parse::<Network>().unwrap();
        let agent = |name: &str, network: Option<Network>| AgentDefinition {
            network,
            ..AgentDefinition::new(name)
        };
        let one = McpServer {
            command: Some("x".into()),
            network: Some(list("a.test,b.test")),
            ..McpServer::default()
        };
        let configured = BTreeMap::from([("one".to_owned(), one)]);
        let servers = McpServerPool::new(McpSetup {
            configured,
            ..McpSetup::default()
        });
        let definitions = Definitions::builtin().with(agent("lead", Some(list("b.test,c.test"))));
        let mandate: Mandate = serde_json::from_value(json!({
            "parent": {"session": "ses_1", "run": "run_1", "call": "call_1"}, "root": "run_1", "mode": "foreground",
            "above": [{"agent": "lead", "session": "ses_1"}], "tools": ["mcp__one__*"], "permission_mode": "auto",
        }))
        .unwrap();
        let reached = |definition: &AgentDefinition, mandate: Option<&Mandate>| {
            let wanted = wanted(&servers, &definitions, definition, mandate);
            wanted.servers.get("one").unwrap().network.clone()
        };
        assert_eq!(
            reached(&agent("x", None), None),
            Some(list("a.test,b.test"))
        );
        assert_eq!(
            reached(&agent("x", Some(list("a.test"))), None),
            Some(list("a.test"))
        );
        assert_eq!(
            reached(&agent("x", None), Some(&mandate)),
            Some(list("b.test"))
        );
        assert_eq!(
            reached(&agent("x", Some(list("a.test"))), Some(&mandate)),
            Some(Network::Off)
        );
    }
}

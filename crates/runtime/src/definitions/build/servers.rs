//! Servers whose tools an agent brings along, with variables replaced.

use std::collections::BTreeMap;

use rooftree_protocol::{McpServer, SandboxMode};
use rooftree_tools::HAS_MCP;

use super::DefinitionBuilder;
use crate::definitions::{
    names::nearest,
    syntax_tree::{SyntaxEntry, SyntaxNode, SyntaxValue},
};

/// The keys of a server.
const SERVER_KEYS: [&str; 10] = [
    "command",
    "url",
    "args",
    "env",
    "headers",
    "cwd",
    "trust_hints",
    "enabled",
    "sandbox",
    "network",
];

impl DefinitionBuilder<'_> {
    /// A map of servers, or a list of names and of maps with one server each.
    pub(super) fn servers(&mut self, entry: &SyntaxEntry) {
        let mut servers = BTreeMap::new();
        match &entry.node.value {
            SyntaxValue::Map(entries) => entries
                .iter()
                .for_each(|server| self.server(server, &mut servers)),
            SyntaxValue::List(items) => {
                for item in items {
                    match (&item.value, item.text()) {
                        (SyntaxValue::Map(entries), _) => entries
                            .iter()
                            .for_each(|server| self.server(server, &mut servers)),
                        (_, Some(name)) => {
                            servers.insert(name.to_owned(), McpServer::default());
                        }
                        _ => self.wrong(entry, "a list of names and maps"),
                    }
                }
            }
            SyntaxValue::Text { .. } => self.wrong(entry, "a map of servers"),
        }
        if !HAS_MCP {
            let what =
                self.placed("no server can be used: this program was built without MCP".into());
            let help = "build it with the cargo feature `mcp`";
            self.complaints
                .warning("W0121", Some(entry.node.at), what, help);
        }
        self.definition.mcp_servers = servers;
    }

    fn server(&mut self, entry: &SyntaxEntry, servers: &mut BTreeMap<String, McpServer>) {
        let Some(entries) = entry.node.entries() else {
            return self.wrong(entry, "a map");
        };
        let mut server = McpServer::default();
        for field in entries {
            match field.key.as_str() {
                "command" => server.command = self.expanded(&field.node),
                "url" => server.url = self.expanded(&field.node),
                "args" => server.args = self.each(field),
                "env" => server.env = self.pairs(field),
                "headers" => server.headers = self.pairs(field),
                "cwd" => server.cwd = self.expanded(&field.node).map(Into::into),
                "trust_hints" | "trustHints" => {
                    server.trust_hints = self.flag(field).unwrap_or_default()
                }
                "enabled" => server.enabled = self.flag(field).unwrap_or(true),
                "timeout" | "timeout_secs" => {
                    server.timeout_secs = self.count(field).map(u64::from)
                }
                "sandbox" => server.sandbox = self.confinement(field),
                "network" => server.network = self.network(field),
                "type" if matches!(field.node.text(), Some("sse" | "ws")) => {
                    self.wrong(field, "a server of the kind `stdio` or `http`");
                }
                // What kind it is can be seen from whether it has a command or a URL.
                "type" | "name" => {}
                key => match nearest(key, SERVER_KEYS) {
                    // A misspelt `sandbox` or `network` would otherwise confine less than was meant.
                    Some(meant) => {
                        let what = self.placed(format!("unknown key `{key}` of a server"));
                        let help = format!("did you mean `{meant}`?");
                        self.complaints.error("E0318", Some(field.at), what, &help);
                    }
                    None => self.not_yet(field),
                },
            }
        }
        if server.command.is_none() && server.url.is_none() {
            self.wrong(entry, "a server with a `command` or a `url`");
        }
        servers.insert(entry.key.clone(), server);
    }

    /// A definition may come with a project: it can confine a server more strictly, and no more loosely.
    fn confinement(&mut self, field: &SyntaxEntry) -> Option<SandboxMode> {
        match field.node.text() {
            Some("auto") => Some(SandboxMode::Auto),
            Some("required") => Some(SandboxMode::Required),
            Some("off") => {
                let what = self
                    .placed("`sandbox: off` of a server has no effect in a definition".to_owned());
                let help = "set the server up in your own mcp.json, and name it here";
                self.complaints.warning("W0119", Some(field.at), what, help);
                None
            }
            _ => {
                self.wrong(field, "`auto` or `required`");
                None
            }
        }
    }

    fn each(&mut self, entry: &SyntaxEntry) -> Vec<String> {
        match &entry.node.value {
            SyntaxValue::List(items) => items
                .iter()
                .filter_map(|item| self.expanded(item))
                .collect(),
            _ => {
                self.wrong(entry, "a list");
                Vec::new()
            }
        }
    }

    fn pairs(&mut self, entry: &SyntaxEntry) -> BTreeMap<String, String> {
        let Some(entries) = entry.node.entries() else {
            self.wrong(entry, "a map");
            return BTreeMap::new();
        };
        entries
            .iter()
            .filter_map(|pair| Some((pair.key.clone(), self.expanded(&pair.node)?)))
            .collect()
    }

    fn expanded(&mut self, node: &SyntaxNode) -> Option<String> {
        let (text, missing) = self.loader_context.expand(node.text()?);
        for name in missing {
            let what = self.placed(format!("variable `{name}` is not set"));
            let help = format!("set it, or write ${{{name}:-default}}");
            self.complaints.warning("W0104", Some(node.at), what, &help);
        }
        Some(text)
    }
}

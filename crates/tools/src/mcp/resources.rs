//! The tools ListMcpResources and ReadMcpResource: one pair for all servers of an agent that have resources.
//!
//! Invariant: for rules and hooks, a call counts as a call of a tool of its server, such as
//! `mcp__server__ReadMcpResource`; an agent that may not use a server's tools may not read its resources either.

use std::{collections::BTreeMap, fmt::Write, sync::Arc};

use futures::future::BoxFuture;
use rooftree_protocol::{Effect, ToolKind, ToolSpec};
use serde_json::Value;

use super::{
    connection::McpResourceList, names, remote_tool::failure, result_content,
    sanitize::sanitize_text, server_entry::McpServerEntry, tool_list::limit,
};
use crate::{
    Tool, ToolContext, ToolInfo, ToolOutput,
    arguments::{self, ArgumentKind, ToolArgument, text},
};

/// What these tools are called.
pub const RESOURCE_TOOLS: [&str; 2] = ["ListMcpResources", "ReadMcpResource"];

const SERVER: ToolArgument = ToolArgument::new("server", ArgumentKind::Text, "Which MCP server")
    .with_aliases(&["server_name"]);
const LIST: [ToolArgument; 1] = [SERVER];
const READ: [ToolArgument; 2] = [
    SERVER,
    ToolArgument::new("uri", ArgumentKind::Text, "As it is listed").required(),
];

/// Characters of what a server says about one resource.
const ABOUT: usize = 400;
/// Characters of the address of a resource.
const ADDRESS: usize = 2_000;

/// Untrusted text: an agent that reads a resource becomes wary (tainted). Not in the table of tools, because rules know
/// these calls as calls of their server.
const INFO: ToolInfo = ToolInfo::at_run_time(ToolKind::Fetch, Effect::RemoteAction);

/// The servers of one agent that have resources, by the names it knows them by.
pub(super) type ResourceServers = Arc<BTreeMap<String, Arc<McpServerEntry>>>;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Action {
    List,
    Read,
}

struct ResourceTool {
    spec: ToolSpec,
    info: ToolInfo,
    action: Action,
    sources: ResourceServers,
}

/// The tools that read from these servers; none if there are none.
pub(super) fn tools(sources: BTreeMap<String, Arc<McpServerEntry>>) -> Vec<Arc<dyn Tool>> {
    if sources.is_empty() {
        return Vec::new();
    }
    let there_are = sources
        .keys()
        .map(|name| sanitize_text(name, 100))
        .collect::<Vec<_>>()
        .join(", ");
    let list = format!("List the resources of an MCP server. Servers that have some: {there_are}.");
    let read = "Read a resource of an MCP server. ListMcpResources tells which there are.";
    let sources = Arc::new(sources);
    let [list_name, read_name] = RESOURCE_TOOLS;
    vec![
        Arc::new(ResourceTool {
            spec: arguments::spec(list_name, &list, &LIST),
            info: ToolInfo {
                aliases: &["ListMcpResourcesTool", "list_mcp_resources"],
                ..INFO
            },
            action: Action::List,
            sources: sources.clone(),
        }),
        Arc::new(ResourceTool {
            spec: arguments::spec(read_name, read, &READ),
            info: ToolInfo {
                aliases: &["ReadMcpResourceTool", "read_mcp_resource"],
                ..INFO
            },
            action: Action::Read,
            sources,
        }),
    ]
}

impl ResourceTool {
    /// Which server is meant: the one that is named, or the only one.
    fn source(&self, input: &Value) -> Result<String, String> {
        let there_are = || {
            self.sources
                .keys()
                .map(String::as_str)
                .collect::<Vec<_>>()
                .join(", ")
        };
        match (text(input, "server"), self.sources.len()) {
            ("", 1) => Ok(self.sources.keys().next().cloned().unwrap_or_default()),
            ("", _) => Err(format!("say which server: {}", there_are())),
            (named, _) if self.sources.contains_key(named) => Ok(named.to_owned()),
            (named, _) => Err(format!(
                "there is no server `{named}` with resources. There are: {}",
                there_are()
            )),
        }
    }
}

impl Tool for ResourceTool {
    fn info(&self) -> &ToolInfo {
        &self.info
    }

    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn normalise(&self, _called_as: &str, input: Value) -> Result<Value, String> {
        let arguments: &[ToolArgument] = if self.action == Action::List {
            &LIST
        } else {
            &READ
        };
        let mut input = arguments::normalise(&self.spec.name, arguments, input)?;
        let source = self.source(&Value::Object(input.clone()))?;
        input.insert("server".to_owned(), source.into());
        Ok(Value::Object(input))
    }

    /// A list is what a server says about itself, as its list of tools is. Reading may be anything.
    fn effect(&self, input: &Value) -> Effect {
        let is_believed = || {
            self.sources
                .get(text(input, "server"))
                .is_some_and(|slot| slot.server().trust_hints)
        };
        if self.action == Action::List || is_believed() {
            Effect::ReadOnly
        } else {
            Effect::RemoteAction
        }
    }

    fn title(&self, input: &Value) -> String {
        format!(
            "{} {}",
            text(input, "server"),
            sanitize_text(text(input, "uri"), 200)
        )
        .trim()
        .to_owned()
    }

    fn ruled_as(&self, input: &Value) -> String {
        names::of_tool(text(input, "server"), &self.spec.name)
    }

    fn run(&self, input: Value, context: ToolContext) -> BoxFuture<'static, ToolOutput> {
        let (server, uri, action) = (
            text(&input, "server").to_owned(),
            text(&input, "uri").to_owned(),
            self.action,
        );
        let slot = self.sources.get(&server).cloned();
        Box::pin(async move {
            let Some(slot) = slot else {
                return ToolOutput::done("(no such server)");
            };
            let _needed = slot.lease();
            let connection = match slot.connected(&context).await {
                Ok(connection) => connection,
                Err(error) => return failure(&server, &error),
            };
            let given = match action {
                Action::List => {
                    let listed = connection.readable().await;
                    listed
                        .map(|found| ToolOutput::done(connection.secrets().redact(listing(&found))))
                }
                Action::Read => {
                    let read = connection.read(&uri, limit(slot.server()), &context).await;
                    read.map(|read| result_content::resources(read.contents, &connection))
                }
            };
            given.unwrap_or_else(|error| failure(&server, &error))
        })
    }
}

/// What there is to be read, a line for each.
fn listing(found: &McpResourceList) -> String {
    let mut lines = String::new();
    for resource in &found.resources {
        let name = resource.title.as_ref().unwrap_or(&resource.name);
        line(
            &mut lines,
            &resource.uri,
            name,
            resource.description.as_deref(),
        );
    }
    for template in &found.templates {
        let name = template.title.as_ref().unwrap_or(&template.name);
        line(
            &mut lines,
            &template.uri_template,
            name,
            template.description.as_deref(),
        );
    }
    if !found.templates.is_empty() {
        lines += "What is in braces is to be filled in.\n";
    }
    if found.has_more {
        lines += "There are more, which are not listed.\n";
    }
    if lines.is_empty() {
        "(no resources)".to_owned()
    } else {
        lines.trim_end().to_owned()
    }
}

fn line(lines: &mut String, uri: &str, name: &str, about: Option<&str>) {
    let about = about.map(|about| format!(": {about}")).unwrap_or_default();
    let said = sanitize_text(&format!("{name}{about}"), ABOUT).replace('\n', " ");
    let _ = writeln!(
        lines,
        "{} ({said})",
        sanitize_text(uri, ADDRESS).replace('\n', " ")
    );
}

//! Converts a server's tool list into tools for an agent: limits, sanitizes, names them, and compares them with their
//! pins.

use std::{collections::HashMap, sync::Arc, time::Duration};

use rmcp::model::Tool as Listing;
use rooftree_protocol::{McpServer, ToolKind, ToolSpec};
use serde_json::Value;

use super::{
    Error, Notice, ToolPinStore,
    connection::{ListedTools, MOST_TOOLS},
    identity::pin_key,
    names,
    remote_tool::{RemoteTool, effect},
    sanitize::{DESCRIPTION, sanitize_schema, sanitize_text},
    server_entry::McpServerEntry,
};
use crate::{Tool, ToolInfo};

/// Default timeout of a call.
const CALL: Duration = Duration::from_secs(120);

/// The tools of one server for one agent, and what people should know about them.
pub(super) struct McpServerTools {
    pub(super) tools: Vec<Arc<dyn Tool>>,
    /// Whether there is something to be read besides.
    pub(super) has_resources: bool,
    pub(super) notices: Vec<Notice>,
}

/// Makes tools of what was listed.
pub(super) fn server_tools(
    name: &str,
    slot: &Arc<McpServerEntry>,
    listed: &ListedTools,
    pins: &ToolPinStore,
) -> Result<McpServerTools, Error> {
    let mut notices = Vec::new();
    if listed.has_more {
        let words = format!(
            "it has too many tools to choose from; only the first {MOST_TOOLS} are looked at"
        );
        notices.push(Notice::left_out(name, &words));
    }
    let known_as = pin_key(name, slot.server());
    let changes = pins.compare(&known_as, &listed.tools)?;
    pins.note_resources(&known_as, listed.has_resources)?;
    notices.extend(changes.iter().map(|change| Notice::changed(name, change)));
    let shared = shared_names(name, &listed.tools);
    let mut tools: Vec<Arc<dyn Tool>> = Vec::new();
    for listing in &listed.tools {
        if changes.iter().any(|change| change.tool == listing.name) {
            continue;
        }
        let own = names::of_tool(name, &listing.name);
        if shared
            .get(&own.to_lowercase())
            .is_some_and(|count| *count > 1)
        {
            let words = format!("several tools would be called `{own}`; none of them is used");
            notices.push(Notice::left_out(name, &words));
            continue;
        }
        match tool(name, own, listing, slot) {
            Some(tool) => tools.push(Arc::new(tool)),
            None => {
                let words = format!(
                    "the arguments of `{}` are too long to be told",
                    sanitize_text(&listing.name, 100)
                );
                notices.push(Notice::left_out(name, &words));
            }
        }
    }
    notices.dedup();
    Ok(McpServerTools {
        tools,
        has_resources: listed.has_resources,
        notices,
    })
}

/// The remembered tools of a server. A call of one connects to the server first.
pub(super) fn remembered_tools(
    name: &str,
    slot: &Arc<McpServerEntry>,
    known: &[Listing],
) -> Vec<Arc<dyn Tool>> {
    let shared = shared_names(name, known);
    let named = known
        .iter()
        .map(|listing| (names::of_tool(name, &listing.name), listing));
    let alone = named.filter(|(own, _)| shared.get(&own.to_lowercase()) == Some(&1));
    let tools = alone.filter_map(|(own, listing)| tool(name, own, listing, slot));
    tools.map(|tool| Arc::new(tool) as Arc<dyn Tool>).collect()
}

/// How long a call of a server may take.
pub(super) fn limit(server: &McpServer) -> Duration {
    server.timeout_secs.map_or(CALL, Duration::from_secs)
}

/// How many tools would have each name. Names are compared without case, as models use them.
fn shared_names(server: &str, tools: &[Listing]) -> HashMap<String, usize> {
    let mut counts = HashMap::new();
    for tool in tools {
        *counts
            .entry(names::of_tool(server, &tool.name).to_lowercase())
            .or_default() += 1;
    }
    counts
}

fn tool(
    server: &str,
    name: String,
    listing: &Listing,
    slot: &Arc<McpServerEntry>,
) -> Option<RemoteTool> {
    let mut input_schema = sanitize_schema(&Value::Object(listing.input_schema.as_ref().clone()))?;
    if let Some(schema) = input_schema.as_object_mut() {
        schema.entry("type").or_insert_with(|| "object".into());
    }
    let words = listing
        .description
        .as_deref()
        .or(listing.title.as_deref())
        .unwrap_or_default();
    let description = sanitize_text(words, DESCRIPTION);
    let description = if description.is_empty() {
        format!("A tool of the MCP server `{server}`.")
    } else {
        description
    };
    let config = slot.server();
    Some(RemoteTool {
        spec: ToolSpec {
            name,
            description,
            input_schema,
        },
        server: server.to_owned(),
        name: listing.name.to_string(),
        info: ToolInfo::at_run_time(
            ToolKind::Fetch,
            effect(listing.annotations.as_ref(), config.trust_hints),
        ),
        limit: limit(config),
        slot: slot.clone(),
    })
}

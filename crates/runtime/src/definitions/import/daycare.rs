//! Imports the directory of daycare: its identity, its permanent agents, and its scheduled tasks.

use std::{fs, path::Path};

use rooftree_protocol::AgentDialect;

use super::{field, left_out, named, renamed, source, text};
use crate::definitions::{
    bounded_read::{entries, markdown_files},
    diagnostic::FileDiagnostics,
    draft::{DefinitionDraft, FileDrafts},
    markdown,
    syntax_tree::{SourceSpan, SyntaxEntry, SyntaxNode, SyntaxValue, yaml},
};

/// Prompts that together say who the assistant is, in this order.
const PROMPTS: [&str; 5] = ["SOUL.md", "USER.md", "AGENTS.md", "TOOLS.md", "MEMORY.md"];
const TOP: SourceSpan = SourceSpan {
    line: 1,
    column: 1,
    length: 1,
};

/// Everything in it that is an agent.
pub(super) fn house(path: &Path) -> FileDrafts {
    let mut all = FileDrafts::default();
    let model = settings(&path.join("settings.json"), &mut all);
    assistant(path, model, &mut all);
    for place in entries(&path.join("agents")) {
        all.add(permanent(&place));
    }
    for place in entries(&path.join("cron")) {
        let file = place.join("TASK.md");
        let name = place
            .file_name()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default();
        if file.is_file() {
            all.add(task(&file, &name, place.join("MEMORY.md").is_file()));
        }
    }
    for file in markdown_files(&path.join("heartbeat")) {
        let name = file
            .file_stem()
            .map(|stem| stem.to_string_lossy().into_owned())
            .unwrap_or_default();
        all.add(task(&file, &name, false));
    }
    all
}

/// The one people talk to.
fn assistant(path: &Path, model: Vec<SyntaxEntry>, all: &mut FileDrafts) {
    let read = |name: &&str| {
        let places = [path.join(name), path.join("prompts").join(name)];
        places
            .iter()
            .find_map(|place| fs::read_to_string(place).ok())
            .filter(|text| !text.trim().is_empty())
    };
    let parts: Vec<String> = PROMPTS.iter().filter_map(read).collect();
    if parts.is_empty() {
        return;
    }
    let place = path.join("SOUL.md");
    let mut fields = vec![field(
        "description",
        "The assistant that was kept in daycare",
        TOP,
    )];
    fields.extend(model);
    let source = source(&place, AgentDialect::Daycare);
    let draft = DefinitionDraft::bare("daycare".into(), fields, &source, &place, "");
    all.drafts.push(DefinitionDraft {
        prompt: parts.join("\n\n").trim().to_owned(),
        ..draft
    });
}

/// The model of the first provider that is switched on. What else is set stays in daycare.
fn settings(path: &Path, all: &mut FileDrafts) -> Vec<SyntaxEntry> {
    let Ok(read) = fs::read_to_string(path) else {
        return Vec::new();
    };
    let mut complaints = FileDiagnostics::about(path, &read);
    let mut model = Vec::new();
    match yaml::read(&read, 1) {
        Ok(node) => {
            for entry in node.entries().unwrap_or_default() {
                match entry.key.as_str() {
                    "providers" => model = provider(&entry.node).unwrap_or_default(),
                    "agents" => emergency(entry, &mut complaints),
                    "plugins" | "connectors" => {
                        left_out(
                            &mut complaints,
                            entry,
                            "rooftree mcp add sets up servers of tools",
                        );
                    }
                    _ => left_out(&mut complaints, entry, "it stays in daycare"),
                }
            }
        }
        Err(broken) => complaints.warning(
            "W0120",
            Some(broken.at),
            format!("cannot read it: {}", broken.what),
            "",
        ),
    }
    all.diagnostics.extend(complaints.list);
    model
}

fn emergency(entry: &SyntaxEntry, complaints: &mut FileDiagnostics<'_>) {
    for inner in entry.node.entries().unwrap_or_default() {
        let help = match inner.key.as_str() {
            "emergencyContextLimit" => "write limits: {emergency_context: …} into the agent",
            _ => "it stays in daycare",
        };
        left_out(complaints, inner, help);
    }
}

fn provider(node: &SyntaxNode) -> Option<Vec<SyntaxEntry>> {
    let SyntaxValue::List(items) = &node.value else {
        return None;
    };
    let is_on = |entries: &&[SyntaxEntry]| {
        let enabled = entries.iter().find(|entry| entry.key == "enabled");
        enabled.is_none_or(|entry| entry.node.flag() != Some(false))
    };
    let first = items.iter().filter_map(SyntaxNode::entries).find(is_on)?;
    let found = |key: &str| first.iter().find(|entry| entry.key == key);
    Some(vec![
        renamed("provider", found("id")?),
        renamed("model", found("model")?),
    ])
}

/// An agent that was made to stay. Conversations are no agents.
fn permanent(place: &Path) -> FileDrafts {
    let path = place.join("descriptor.json");
    let Ok(read) = fs::read_to_string(&path) else {
        return FileDrafts::default();
    };
    let mut complaints = FileDiagnostics::about(&path, &read);
    let node = match yaml::read(&read, 1) {
        Ok(node) => node,
        Err(broken) => {
            complaints.error(
                "E0311",
                Some(broken.at),
                format!("cannot read it: {}", broken.what),
                "",
            );
            return FileDrafts::refused(complaints);
        }
    };
    let entries = node.entries().unwrap_or_default();
    let kind = text(entries, "type").unwrap_or_default();
    if kind != "permanent" {
        let what = format!("it is a conversation ({kind}) and no agent");
        complaints.warning(
            "W0120",
            None,
            what,
            "what was said in it stays in its history.jsonl",
        );
        return FileDrafts::refused(complaints);
    }
    let Some(name) = text(entries, "name").and_then(named) else {
        complaints.error(
            "E0316",
            None,
            "the agent has no name".into(),
            "write `name`",
        );
        return FileDrafts::refused(complaints);
    };
    let mut fields = vec![];
    for entry in entries.iter().filter(|entry| !entry.node.is_nothing()) {
        match entry.key.as_str() {
            "type" | "id" => {}
            "name" => fields.push(renamed("display_name", entry)),
            "description" | "systemPrompt" => fields.push(entry.clone()),
            "workspaceDir" => left_out(
                &mut complaints,
                entry,
                "run the agent there: rooftree run -C DIR",
            ),
            _ => fields.push(entry.clone()),
        }
    }
    fields.extend(state(&place.join("state.json"), &mut complaints));
    let source = source(&path, AgentDialect::Daycare);
    let draft = DefinitionDraft {
        complaints: complaints.list,
        ..DefinitionDraft::bare(name, fields, &source, &path, &read)
    };
    FileDrafts {
        drafts: vec![draft],
        diagnostics: Vec::new(),
    }
}

/// What is known about the agent besides: its provider, and what it was permitted.
fn state(path: &Path, complaints: &mut FileDiagnostics<'_>) -> Vec<SyntaxEntry> {
    let node = fs::read_to_string(path)
        .ok()
        .and_then(|read| yaml::read(&read, 1).ok());
    let entries = node
        .as_ref()
        .and_then(SyntaxNode::entries)
        .unwrap_or_default();
    let mut fields = Vec::new();
    for entry in entries {
        // Where it stands in the other file says nothing about this one.
        match entry.key.as_str() {
            "permissions" => {
                for inner in entry.node.entries().unwrap_or_default() {
                    match (inner.key.as_str(), inner.node.flag()) {
                        ("network" | "web", Some(allowed)) => {
                            fields.push(field("network", if allowed { "on" } else { "off" }, TOP));
                        }
                        ("workspaceDir" | "workingDir", _) => {}
                        _ => {
                            let what = format!("permission `{}` is not taken over", inner.key);
                            let help = "sandbox.writable and sandbox.readable in your config.toml permit directories";
                            complaints.warning("W0120", None, what, help);
                        }
                    }
                }
            }
            "providerId" | "provider" | "model" | "modelId" => {
                let what = format!("`{}` of state.json is not taken over", entry.key);
                complaints.warning(
                    "W0120",
                    None,
                    what,
                    "write model: provider/model into the agent",
                );
            }
            // Times and tokens of a conversation.
            _ => {}
        }
    }
    fields
}

/// Something it does by itself. The work becomes an agent; when it is done is read by `daycare_tasks`.
fn task(path: &Path, called: &str, remembers: bool) -> FileDrafts {
    let Ok(read) = fs::read_to_string(path) else {
        return FileDrafts::default();
    };
    let mut complaints = FileDiagnostics::about(path, &read);
    let parts = markdown::split(&read);
    let front = match yaml::read(parts.front.unwrap_or_default(), 2) {
        Ok(front) => front,
        Err(broken) => {
            let what = format!("cannot read the frontmatter: {}", broken.what);
            complaints.error("E0311", Some(broken.at), what, "");
            return FileDrafts::refused(complaints);
        }
    };
    let Some(name) = named(called) else {
        complaints.error(
            "E0315",
            None,
            format!("`{called}` cannot be the name of an agent"),
            "rename it",
        );
        return FileDrafts::refused(complaints);
    };
    let mut fields = vec![];
    for entry in front
        .entries()
        .unwrap_or_default()
        .iter()
        .filter(|entry| !entry.node.is_nothing())
    {
        match entry.key.as_str() {
            "name" | "title" => fields.push(renamed("display_name", entry)),
            "description" => fields.push(entry.clone()),
            // They are fields of its schedule.
            "schedule" | "cron" | "gate" | "enabled" | "agent" => {}
            _ => left_out(&mut complaints, entry, "there is nothing like it"),
        }
    }
    if remembers {
        let what = "its MEMORY.md is not taken over".to_owned();
        complaints.warning(
            "W0120",
            None,
            what,
            "memory: user gives the agent a memory; put the text there",
        );
    }
    let source = source(path, AgentDialect::Daycare);
    let mut draft = DefinitionDraft::bare(name, fields, &source, path, &read);
    if !parts.body.trim().is_empty() {
        // So that it can be run without a message.
        draft
            .fields
            .push(field("initial_prompt", "Do your task now.", TOP));
        draft.prompt = parts.body.trim().to_owned();
    }
    FileDrafts {
        drafts: vec![DefinitionDraft {
            complaints: complaints.list,
            ..draft
        }],
        diagnostics: Vec::new(),
    }
}

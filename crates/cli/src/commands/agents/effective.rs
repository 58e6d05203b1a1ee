//! Effective permissions, tools and limits of an agent, each with the source it comes from.

use std::{fmt::Write, sync::Arc};

use rooftree_protocol::{AgentDefinition, Limits, ModelChoice, PermissionMode, Scope};
use rooftree_providers::{CallRules, Model, Workplace};
use rooftree_runtime::{Definitions, ModelOptions, assembly::known_tools, effective_rights, peers};
use rooftree_server::{EffectiveAgentReport, SourcedSetting, ToolReason};
use rooftree_tools::{PermissionRule, Tool, Toolset, session_tools::REQUEST_PERMISSION};
use serde::Serialize;

use super::AgentsContext;
use crate::{configured_models, environment::Environment};

/// The effective configuration of one agent.
#[derive(Serialize)]
pub struct EffectiveAgent {
    name: String,
    model: SourcedValue,
    permission_mode: SourcedValue,
    max_turns: SourcedValue,
    tools: Vec<ToolAvailability>,
    /// Agents it may delegate to.
    asks: Vec<String>,
    /// Agents that may delegate to it.
    asked_by: Vec<String>,
    /// MCP servers, rules, skills and verifiers that it names.
    mcp_servers: Vec<String>,
    rules: Option<Vec<String>>,
    skills: Vec<String>,
    verifiers: Vec<String>,
    /// What it names that does not exist.
    missing: Vec<String>,
    /// What its model could do beyond all this, because it acts by itself.
    unenforced: Vec<String>,
    limits: Limits,
}

/// A value and where it comes from.
#[derive(Serialize)]
struct SourcedValue {
    value: String,
    from: String,
}

/// A tool, and why an agent has it or has it not.
#[derive(Serialize)]
struct ToolAvailability {
    tool: String,
    has: bool,
    because: String,
}

/// Resolves it.
pub fn of(here: &AgentsContext, definition: &AgentDefinition) -> EffectiveAgent {
    let definitions = &here.project.definitions;
    let asks_it =
        |other: &Arc<AgentDefinition>| asks(other, definitions).contains(&definition.name);
    let asked_by = definitions.iter().filter(asks_it);
    EffectiveAgent {
        name: definition.name.clone(),
        model: model(here, definition),
        permission_mode: permission_mode(here, definition),
        max_turns: max_turns(here, definition),
        tools: known_tools()
            .iter()
            .map(|tool| judged(tool, definition))
            .collect(),
        asks: asks(definition, definitions),
        asked_by: asked_by.map(|other| other.name.clone()).collect(),
        mcp_servers: definition.mcp_servers.keys().cloned().collect(),
        rules: definition.rules.clone(),
        skills: definition.preloaded_skills.clone(),
        verifiers: definition.verifiers.clone(),
        missing: here
            .project
            .project_context
            .current()
            .missing(definition, definitions),
        unenforced: unenforced(here, definition),
        limits: definition.limits.clone(),
    }
}

/// The agents it may delegate to; empty if it has no `Task` tool.
fn asks(definition: &AgentDefinition, definitions: &Definitions) -> Vec<String> {
    if !known_tools()
        .scoped(&definition.tools)
        .capable(&definition.capabilities)
        .names()
        .contains(&"Task")
    {
        return Vec::new();
    }
    peers(definition, definitions)
        .iter()
        .map(|peer| peer.name.clone())
        .collect()
}

/// The model that an agent would use: its own, else the default.
pub fn model_choice(here: &AgentsContext, definition: &AgentDefinition) -> Option<ModelChoice> {
    let default = || {
        here.models
            .resolve(&configured_models::default_name(&here.settings)?)
            .ok()
            .map(|found| found.choice)
    };
    definition.model.clone().or_else(default)
}

/// The model that a schedule of an agent keeps. None for one that is not known here: the server knows its model.
pub fn usual_model(agent: &str, is_heartbeat: bool, environment: &Environment) -> Option<String> {
    let here = AgentsContext::look(environment).ok()?;
    let definition = here.project.definitions.find(agent).ok()?;
    let usual = model_choice(&here, &definition)?;
    if !is_heartbeat || definition.model.is_some() {
        return Some(usual.to_string());
    }
    let resolve = |name: &str| Some(here.models.resolve(name).ok()?.choice);
    let fast = ModelOptions::fast_model(usual, &here.models.catalog, resolve);
    Some(fast.to_string())
}

/// The model it would use; none if it is unavailable. Opening it starts nothing.
pub fn model_of(here: &AgentsContext, definition: &AgentDefinition) -> Option<Model> {
    let choice = model_choice(here, definition)?;
    here.models.catalog.open(&choice).ok()
}

/// The permission mode that an agent would have.
pub fn effective_mode(here: &AgentsContext, definition: &AgentDefinition) -> PermissionMode {
    let mode = here.settings.permission.mode.unwrap_or_default();
    definition.permission_mode.map_or(mode, |own| own.min(mode))
}

/// Limits that a model which is a program of its own does not enforce.
fn unenforced(here: &AgentsContext, definition: &AgentDefinition) -> Vec<String> {
    let Some(model) = model_of(here, definition) else {
        return Vec::new();
    };
    let mode = effective_mode(here, definition);
    let written = |rules: &[PermissionRule]| rules.iter().map(ToString::to_string).collect();
    let rules = CallRules {
        allow: written(&here.settings.permission.allow),
        deny: written(&here.settings.permission.deny),
    };
    let workplace = Workplace {
        mode,
        rules,
        ..Workplace::default()
    };
    model.provider.unenforced(
        &known_tools()
            .scoped(&definition.tools)
            .capable(&definition.capabilities)
            .names(),
        &workplace,
    )
}

fn sourced(value: impl ToString, from: &str) -> SourcedValue {
    SourcedValue {
        value: value.to_string(),
        from: from.to_owned(),
    }
}

fn model(here: &AgentsContext, definition: &AgentDefinition) -> SourcedValue {
    if let Some(model) = &definition.model {
        return sourced(model, "its definition");
    }
    match configured_models::default_name(&here.settings) {
        Some(name) => {
            let choice = here
                .models
                .resolve(&name)
                .map_or(name, |resolved| resolved.choice.to_string());
            sourced(choice, "the default; asked by another agent, that one's")
        }
        None => sourced(
            "none",
            "neither its definition nor the settings name one that can be used",
        ),
    }
}

fn permission_mode(here: &AgentsContext, definition: &AgentDefinition) -> SourcedValue {
    let own = here.settings.permission.mode.unwrap_or_default();
    let word = |mode| {
        serde_json::to_value(mode)
            .ok()
            .and_then(|word| word.as_str().map(str::to_owned))
            .unwrap_or_default()
    };
    match definition.permission_mode {
        Some(mode) if mode <= own => sourced(
            word(mode),
            "its definition, which asks for no more than the settings permit",
        ),
        Some(mode) => sourced(
            word(own),
            &format!("the settings; its definition would take {}", word(mode)),
        ),
        None => sourced(word(own), "the settings"),
    }
}

fn max_turns(here: &AgentsContext, definition: &AgentDefinition) -> SourcedValue {
    let limits = &definition.limits;
    match (here.settings.limits.max_turns, definition.max_turns) {
        (Some(turns), _) => sourced(turns, "the settings"),
        (None, Some(turns)) => sourced(turns, "its definition"),
        (None, None) => sourced(
            limits.max_turns,
            &format!(
                "the default; {} when another agent asks",
                limits.child_turns
            ),
        ),
    }
}

fn judged(tool: &Arc<dyn Tool>, definition: &AgentDefinition) -> ToolAvailability {
    let name = tool.spec().name.clone();
    let scope = &definition.tools;
    if definition.memory.is_none() && name.starts_with("Memory") {
        return ToolAvailability {
            tool: name,
            has: false,
            because: "it has no `memory`".to_owned(),
        };
    }
    if Toolset::new([tool.clone()])
        .capable(&definition.capabilities)
        .names()
        .is_empty()
    {
        return ToolAvailability {
            tool: name,
            has: false,
            because: "its capabilities do not allow that".to_owned(),
        };
    }
    if effective_rights::tools(&Toolset::new([tool.clone()]), definition)
        .names()
        .is_empty()
        && definition.tools.allow.is_none()
        && !scope.deny.iter().any(|glob| means(glob, tool))
    {
        let because = if name == REQUEST_PERMISSION.name {
            "only where `tools` names it, and in background agents that start_background_agent starts"
        } else {
            "only where `tools` names it"
        };
        return ToolAvailability {
            tool: name,
            has: false,
            because: because.to_owned(),
        };
    }
    let (has, because) = match (
        scope.deny.iter().find(|glob| means(glob, tool)),
        &scope.allow,
    ) {
        (Some(glob), _) => (false, format!("denied by `{glob}`")),
        (None, None) => (true, "all are allowed".to_owned()),
        (None, Some(allow)) => match allow.iter().find(|glob| means(glob, tool)) {
            Some(glob) => (true, format!("allowed by `{glob}`")),
            None => (false, "not in its list".to_owned()),
        },
    };
    ToolAvailability {
        tool: name,
        has,
        because,
    }
}

/// Whether a glob, or another name of it, means a tool: the toolset itself decides.
fn means(glob: &str, tool: &Arc<dyn Tool>) -> bool {
    !Toolset::new([tool.clone()])
        .scoped(&Scope::only([glob]))
        .names()
        .is_empty()
}

impl EffectiveAgent {
    /// For the HTTP API.
    pub fn report(self) -> EffectiveAgentReport {
        let values = [
            ("model", self.model),
            ("permission_mode", self.permission_mode),
            ("max_turns", self.max_turns),
        ];
        let values = values.into_iter().map(|(name, value)| SourcedSetting {
            name: name.to_owned(),
            value: value.value,
            from: value.from,
        });
        let tools = self.tools.into_iter().map(|tool| ToolReason {
            tool: tool.tool,
            has: tool.has,
            because: tool.because,
        });
        EffectiveAgentReport {
            tools: tools.collect(),
            values: values.collect(),
            asks: self.asks,
            missing: self.missing,
        }
    }

    /// For people.
    pub fn text(&self) -> String {
        let mut text = format!("{}\n", self.name);
        for (label, value) in [
            ("model", &self.model),
            ("permission mode", &self.permission_mode),
            ("turns", &self.max_turns),
        ] {
            let _ = writeln!(text, "  {label:<16} {}  ({})", value.value, value.from);
        }
        let _ = writeln!(
            text,
            "  {:<16} {} deep, {} at once",
            "delegation", self.limits.depth, self.limits.children
        );
        text += "tools\n";
        for tool in &self.tools {
            let sign = if tool.has { '✓' } else { '✗' };
            let _ = writeln!(text, "  {sign} {:<19} {}", tool.tool, tool.because);
        }
        let list = |names: &[String]| {
            if names.is_empty() {
                "nobody".to_owned()
            } else {
                names.join(", ")
            }
        };
        for (label, names) in [
            ("servers", Some(&self.mcp_servers)),
            ("rules", self.rules.as_ref()),
            ("skills", Some(&self.skills)),
            ("verifiers", Some(&self.verifiers)),
        ] {
            if let Some(names) = names.filter(|names| !names.is_empty()) {
                let _ = writeln!(text, "{label:<13} {}", names.join(", "));
            }
        }
        let _ = writeln!(text, "may ask       {}", list(&self.asks));
        let _ = writeln!(text, "asked by      {}", list(&self.asked_by));
        for words in &self.unenforced {
            let _ = writeln!(text, "not enforced  {words}");
        }
        for missing in &self.missing {
            let _ = writeln!(text, "missing       {missing}");
        }
        text
    }
}

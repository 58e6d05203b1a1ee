//! Agents as the API shows them, and requests to make and change them.

use std::path::PathBuf;

use rooftree_protocol::{AgentDefinition, DefinitionLevel, ModelChoice, UseAs};
use rooftree_runtime::definitions::{Diagnostic, Severity};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// An agent in a list.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct AgentItem {
    /// Its name.
    name: String,
    /// What it is for.
    description: String,
    /// Who wrote its definition.
    level: DefinitionLevel,
    /// The file it is in.
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<PathBuf>,
    /// Its model, if it names one.
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<ModelChoice>,
    /// Whether lists leave it out.
    hidden: bool,
    /// Who may use it.
    use_as: UseAs,
    /// What it is drawn with: `color`, `icon`, `group`.
    #[serde(skip_serializing_if = "Map::is_empty")]
    look: Map<String, Value>,
}

/// Agents.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct AgentList {
    /// The agents, by name.
    pub(super) agents: Vec<AgentItem>,
}

/// One agent.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct AgentDetail {
    /// Its definition. Values of variables and headers of MCP servers are left out.
    pub(super) definition: AgentDefinition,
    /// Whether it can be changed here.
    pub(super) editable: bool,
    /// Names what its definition is now, for `If-Match`; absent if it cannot be changed here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) etag: Option<String>,
}

/// An agent to be made.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewAgent {
    /// Its name.
    pub(super) name: String,
    /// Its definition, as a Markdown file has it.
    pub(super) text: String,
}

/// The definition of an agent from now on.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AgentText {
    /// As a Markdown file has it.
    pub(super) text: String,
}

/// What is wrong with a text, and the definition in it.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct AgentCheck {
    /// Whether it could be made.
    pub(super) valid: bool,
    /// What is wrong with it.
    pub(super) diagnostics: Vec<DefinitionDiagnostic>,
    /// The definition, as far as it can be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) definition: Option<AgentDefinition>,
}

/// Something that is wrong with a definition.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct DefinitionDiagnostic {
    /// Whether the definition can be used all the same.
    warning: bool,
    /// The error number people may quote.
    code: String,
    /// What is wrong.
    message: String,
    /// The line it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    help: Option<String>,
}

impl From<&AgentDefinition> for AgentItem {
    fn from(definition: &AgentDefinition) -> Self {
        Self {
            name: definition.name.clone(),
            description: definition.description.clone(),
            level: definition.source.level,
            path: definition.source.path.clone(),
            model: definition.model.clone(),
            hidden: definition.hidden,
            use_as: definition.use_as,
            look: definition.look.clone(),
        }
    }
}

impl From<&Diagnostic> for DefinitionDiagnostic {
    fn from(found: &Diagnostic) -> Self {
        Self {
            warning: found.severity == Severity::Warning,
            code: found.code.to_owned(),
            message: found.message.clone(),
            line: found.at.map(|at| at.line),
            help: found.help.clone(),
        }
    }
}

/// A definition without the values of variables and headers, which may be secret.
pub(super) fn without_secrets(definition: &AgentDefinition) -> AgentDefinition {
    let mut shown = definition.clone();
    shown.hooks = None;
    for server in shown.mcp_servers.values_mut() {
        let values = server.env.values_mut().chain(server.headers.values_mut());
        values.for_each(|value| "…".clone_into(value));
    }
    shown
}

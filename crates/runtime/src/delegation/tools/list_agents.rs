//! ListAgents: the agents that can be asked.

use futures::future::BoxFuture;
use rooftree_protocol::{AgentDefinition, AgentDialect, DefinitionLevel, ToolSpec};
use rooftree_tools::{
    Tool, ToolContext, ToolInfo, ToolOutput,
    arguments::{self, ArgumentKind, ToolArgument, flag},
    dialect_names,
    session_tools::LIST_AGENTS,
};
use serde_json::Value;

use super::caller;
use crate::delegation::bounds::accessible;

const DESCRIPTION: &str = "List the agents that Task can be given to.";

const ARGUMENTS: [ToolArgument; 1] = [ToolArgument::new(
    "detail",
    ArgumentKind::Flag,
    "With their prompts",
)];

/// Characters of a prompt that are shown.
const PREVIEW: usize = 500;

/// The ListAgents tool.
pub(super) struct ListAgentsTool {
    spec: ToolSpec,
}

impl ListAgentsTool {
    pub(super) fn new() -> Self {
        Self {
            spec: arguments::spec(LIST_AGENTS.name, DESCRIPTION, &ARGUMENTS),
        }
    }
}

impl Tool for ListAgentsTool {
    fn info(&self) -> &ToolInfo {
        &LIST_AGENTS
    }

    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn spec_in(&self, dialect: AgentDialect) -> Option<ToolSpec> {
        let spec = dialect_names::renamed(&self.spec, dialect);
        let asking = match dialect {
            AgentDialect::Rooftree | AgentDialect::Fourmis => return spec,
            AgentDialect::Emdash => "task",
            AgentDialect::Daycare => "start_background_agent",
            AgentDialect::Assistant => "agents_message",
            AgentDialect::Koda => "InvokeAgent",
        };
        let mut spec = spec.unwrap_or_else(|| self.spec.clone());
        spec.description = format!("List the agents for {asking}.");
        Some(spec)
    }

    fn normalise(&self, _called_as: &str, input: Value) -> Result<Value, String> {
        arguments::normalise(LIST_AGENTS.name, &ARGUMENTS, input).map(Value::Object)
    }

    fn run(&self, input: Value, context: ToolContext) -> BoxFuture<'static, ToolOutput> {
        Box::pin(async move {
            let caller = match caller(&context) {
                Ok(caller) => caller,
                Err(output) => return *output,
            };
            let detail = flag(&input, "detail");
            let lines: Vec<String> = accessible(&caller)
                .map(|agent| described(&agent, detail))
                .collect();
            ToolOutput::done(if lines.is_empty() {
                "There are no agents to ask.".into()
            } else {
                lines.join("\n")
            })
        })
    }
}

fn described(agent: &AgentDefinition, detail: bool) -> String {
    let line = format!("- {}: {}", agent.name, agent.description);
    if !detail {
        return line;
    }
    let preview: String = agent.prompt.chars().take(PREVIEW).collect();
    let cut = if preview.len() < agent.prompt.len() {
        "\n[...truncated]"
    } else {
        ""
    };
    format!("{line} [{}]\n{preview}{cut}\n", level(agent.source.level))
}

/// Who wrote a definition, in a word.
fn level(level: DefinitionLevel) -> &'static str {
    match level {
        DefinitionLevel::Builtin => "built-in",
        DefinitionLevel::User => "user",
        DefinitionLevel::Project => "project",
        DefinitionLevel::Config => "settings",
        DefinitionLevel::Api => "api",
        DefinitionLevel::Code => "program",
    }
}

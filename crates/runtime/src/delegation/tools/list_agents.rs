//! ListAgents: the agents that can be asked.

use futures::future::BoxFuture;
use rooftree_protocol::{AgentDefinition, Effect, ToolKind, ToolSpec};
use rooftree_stdx::shorten::shorten;
use rooftree_tools::{
    Tool, ToolContext, ToolOutput,
    arguments::{self, ArgumentKind, ToolArgument, flag},
};
use serde_json::Value;

use super::{accessible, caller};

const DESCRIPTION: &str = "List the agents that Task can be given to.";

const ARGUMENTS: [ToolArgument; 1] = [ToolArgument::new(
    "detail",
    ArgumentKind::Flag,
    "With the beginning of their prompts.",
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
            spec: arguments::spec("ListAgents", DESCRIPTION, &ARGUMENTS),
        }
    }
}

impl Tool for ListAgentsTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn aliases(&self) -> &'static [&'static str] {
        &["list_agents", "agents_list"]
    }

    fn kind(&self) -> ToolKind {
        ToolKind::Delegate
    }

    fn normalise(&self, _called_as: &str, input: Value) -> Result<Value, String> {
        arguments::normalise("ListAgents", &ARGUMENTS, input).map(Value::Object)
    }

    fn effect(&self, _input: &Value) -> Effect {
        Effect::ReadOnly
    }

    fn title(&self, _input: &Value) -> String {
        String::new()
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
    format!("{line}\n{}\n", shorten(&agent.prompt, PREVIEW))
}

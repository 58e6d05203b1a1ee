//! DiscardWorkspace: drops a task's working copy. Work that was not applied is not lost.

use futures::future::BoxFuture;
use rooftree_protocol::ToolSpec;
use rooftree_tools::{
    Tool, ToolContext, ToolInfo, ToolOutput,
    arguments::{self, ArgumentKind, ToolArgument, flag, text},
    session_tools::DISCARD_WORKSPACE,
};
use rooftree_workspace as workspace;
use serde_json::Value;

use super::{caller, in_trouble, workspace_of};

const DESCRIPTION: &str = "Drop the working copy of a task. Work that was not applied needs force, and stays on its \
branch.";

const ARGUMENTS: [ToolArgument; 2] = [
    ToolArgument::new("task_id", ArgumentKind::Text, "")
        .required()
        .with_aliases(&["id"]),
    ToolArgument::new("force", ArgumentKind::Flag, ""),
];

/// The DiscardWorkspace tool.
pub(super) struct DiscardWorkspaceTool {
    spec: ToolSpec,
}

impl DiscardWorkspaceTool {
    pub(super) fn new() -> Self {
        Self {
            spec: arguments::spec(DISCARD_WORKSPACE.name, DESCRIPTION, &ARGUMENTS),
        }
    }
}

impl Tool for DiscardWorkspaceTool {
    fn info(&self) -> &ToolInfo {
        &DISCARD_WORKSPACE
    }

    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn normalise(&self, _called_as: &str, input: Value) -> Result<Value, String> {
        arguments::normalise(DISCARD_WORKSPACE.name, &ARGUMENTS, input).map(Value::Object)
    }

    fn run(&self, input: Value, context: ToolContext) -> BoxFuture<'static, ToolOutput> {
        Box::pin(async move {
            let id = text(&input, "task_id");
            let copy = match caller(&context) {
                Ok(caller) => workspace_of(&caller, id).await,
                Err(output) => Err(output),
            };
            let copy = match copy {
                Ok(copy) => copy,
                Err(output) => return *output,
            };
            match workspace::discard(&copy, flag(&input, "force")).await {
                Ok(None) => ToolOutput::done(format!("The working copy of {id} is gone.")),
                Ok(Some(kept)) => ToolOutput::done(format!(
                    "The working copy of {id} is gone; its work is kept: {kept}."
                )),
                Err(problem) => in_trouble(&problem),
            }
        })
    }
}

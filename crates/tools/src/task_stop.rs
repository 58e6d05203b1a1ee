//! TaskStop: ends a background process and everything it started.

use std::sync::Arc;

use futures::future::BoxFuture;
use rooftree_process::ExitReason;
use rooftree_protocol::{Effect, Repeat, ToolKind, ToolSpec};
use serde_json::Value;

use crate::{
    Tool, ToolContext, ToolOutput,
    arguments::{self, ArgumentKind, ToolArgument, text},
    bash::background_processes::BackgroundProcesses,
    bash_output::{not_found, words_for},
};

const DESCRIPTION: &str = "Stop a background Bash task and everything it started.";

pub(crate) const ARGUMENTS: [ToolArgument; 1] =
    [ToolArgument::new("task_id", ArgumentKind::Text, "")
        .required()
        .with_aliases(&["shell_id", "bash_id", "id"])];

/// The TaskStop tool.
pub(crate) struct TaskStopTool {
    spec: ToolSpec,
    processes: Arc<BackgroundProcesses>,
}

impl TaskStopTool {
    pub fn new(processes: Arc<BackgroundProcesses>) -> Self {
        Self {
            spec: arguments::spec("TaskStop", DESCRIPTION, &ARGUMENTS),
            processes,
        }
    }
}

impl Tool for TaskStopTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn aliases(&self) -> &'static [&'static str] {
        &["exec_kill", "kill_task", "CancelTask", "shutdown_teammate"]
    }

    fn kind(&self) -> ToolKind {
        ToolKind::Execute
    }

    fn normalise(&self, _called_as: &str, input: Value) -> Result<Value, String> {
        arguments::normalise("TaskStop", &ARGUMENTS, input).map(Value::Object)
    }

    fn effect(&self, _input: &Value) -> Effect {
        Effect::LocalMutation
    }

    fn repeat(&self, _input: &Value) -> Repeat {
        Repeat::Idempotent
    }

    fn title(&self, input: &Value) -> String {
        text(input, "task_id").to_owned()
    }

    fn subject(&self, input: &Value) -> Option<String> {
        Some(text(input, "task_id").to_owned())
    }

    fn run(&self, input: Value, context: ToolContext) -> BoxFuture<'static, ToolOutput> {
        let processes = self.processes.clone();
        Box::pin(async move {
            let id = text(&input, "task_id");
            match processes.stop(&context.session, id).await {
                None => not_found(id),
                Some(ExitReason::Cancelled) => {
                    ToolOutput::done(format!("Task \"{id}\" was stopped."))
                }
                Some(ending) => ToolOutput::done(format!(
                    "Task \"{id}\" is already completed: it {}.",
                    words_for(ending)
                )),
            }
        })
    }
}

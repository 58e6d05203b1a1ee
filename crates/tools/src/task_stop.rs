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
    tool_info::{ExposedAs, SkillExemption, ToolInfo, ToolSubject},
};

/// The runtime replaces this tool by one of the same name that also stops agents.
pub const INFO: ToolInfo = ToolInfo {
    name: "TaskStop",
    aliases: &[
        "exec_kill",
        "kill_task",
        "CancelTask",
        "shutdown_teammate",
        "KillShell",
    ],
    definition_aliases: &["KillBash"],
    kind: ToolKind::Execute,
    effect: Effect::LocalMutation,
    repeat: Some(Repeat::Idempotent),
    subject: ToolSubject::Name("task_id"),
    capabilities: &["process"],
    needs_working_copy: false,
    skill_exemption: SkillExemption::AllowList,
    exposed_as: ExposedAs::Function,
    ..ToolInfo::UNDECLARED
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
            spec: arguments::spec(INFO.name, DESCRIPTION, &ARGUMENTS),
            processes,
        }
    }
}

impl Tool for TaskStopTool {
    fn info(&self) -> &ToolInfo {
        &INFO
    }

    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn normalise(&self, _called_as: &str, input: Value) -> Result<Value, String> {
        arguments::normalise(INFO.name, &ARGUMENTS, input).map(Value::Object)
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

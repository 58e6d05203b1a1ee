//! TaskList: the background tasks of this session, agents and processes alike.

use futures::future::BoxFuture;
use rooftree_protocol::{AgentDialect, ErrorCode, Timestamp, ToolSpec};
use rooftree_store::{TaskRow, TaskStatus};
use rooftree_tools::{
    Tool, ToolContext, ToolInfo, ToolOutput,
    arguments::{self, ToolArgument},
    session_tools::TASK_LIST,
};
use serde_json::Value;

use super::caller;
use crate::delegation::dialect;

const DESCRIPTION: &str = "List this session's background tasks.";

const ARGUMENTS: [ToolArgument; 0] = [];

/// Tasks that are listed at most.
const MOST: usize = 50;

/// The TaskList tool.
pub(super) struct TaskListTool {
    spec: ToolSpec,
}

impl TaskListTool {
    pub(super) fn new() -> Self {
        Self {
            spec: arguments::spec(TASK_LIST.name, DESCRIPTION, &ARGUMENTS),
        }
    }
}

impl Tool for TaskListTool {
    fn info(&self) -> &ToolInfo {
        &TASK_LIST
    }

    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn spec_in(&self, dialect: AgentDialect) -> Option<ToolSpec> {
        dialect::spec(&self.spec, dialect)
    }

    fn normalise(&self, _called_as: &str, input: Value) -> Result<Value, String> {
        arguments::normalise(TASK_LIST.name, &ARGUMENTS, input).map(Value::Object)
    }

    fn run(&self, _input: Value, context: ToolContext) -> BoxFuture<'static, ToolOutput> {
        Box::pin(async move {
            let caller = match caller(&context) {
                Ok(caller) => caller,
                Err(output) => return *output,
            };
            let now = caller.context.now();
            match caller
                .context
                .store()
                .tasks(rooftree_store::TaskFilter::of(&caller.session.id))
                .await
            {
                Ok(tasks) if tasks.is_empty() => ToolOutput::done("There are no tasks."),
                Ok(tasks) => {
                    let lines: Vec<String> = tasks
                        .iter()
                        .take(MOST)
                        .map(|task| line(task, now))
                        .collect();
                    ToolOutput::done(lines.join("\n"))
                }
                Err(error) => ToolOutput::failed(ErrorCode::StoreFailed, error.problem().message),
            }
        })
    }
}

fn line(task: &TaskRow, now: Timestamp) -> String {
    let status = match task.status {
        TaskStatus::Running => "running",
        TaskStatus::Completed => "completed",
        TaskStatus::Failed => "failed",
        TaskStatus::Cancelled => "cancelled",
    };
    let seconds = task
        .ended_at
        .unwrap_or(now)
        .since(task.started_at)
        .as_secs();
    let agent = task
        .data
        .get("agent")
        .and_then(Value::as_str)
        .unwrap_or("shell");
    format!("{} {agent} {status} {seconds}s {}", task.id, task.title)
}

//! TaskStop: ends a background task, an agent's run or a process, and everything it started.

use std::{sync::Arc, time::Duration};

use futures::future::BoxFuture;
use rooftree_protocol::{AgentDialect, Effect, RunStatus, ToolKind, ToolSpec, event::RunEnd};
use rooftree_tools::{
    TASK_STOP, Tool, ToolContext, ToolInfo, ToolOutput,
    arguments::{self, ArgumentKind, ToolArgument, text},
};
use serde_json::Value;

use super::{caller, not_found, task_of};
use crate::{
    caller::Caller,
    delegation::{answer, dialect, wait::look},
    runtime_context::SessionAction,
};

/// It only ends what this session has begun.
const INFO: ToolInfo = ToolInfo {
    kind: ToolKind::Delegate,
    effect: Effect::ReadOnly,
    repeat: None,
    needs_caller: true,
    ..TASK_STOP
};

const DESCRIPTION: &str = "Stop a background task and everything it started.";

const ARGUMENTS: [ToolArgument; 1] = [ToolArgument::new("task_id", ArgumentKind::Text, "")
    .required()
    .with_aliases(&["shell_id", "bash_id", "id"])];

/// Timeout for a task to stop.
const GRACE: Duration = Duration::from_secs(5);

/// The TaskStop tool.
pub(super) struct AgentTaskStopTool {
    spec: ToolSpec,
    /// What stops processes.
    processes: Option<Arc<dyn Tool>>,
}

impl AgentTaskStopTool {
    pub(super) fn new(processes: Option<Arc<dyn Tool>>) -> Self {
        Self {
            spec: arguments::spec(INFO.name, DESCRIPTION, &ARGUMENTS),
            processes,
        }
    }
}

impl Tool for AgentTaskStopTool {
    fn info(&self) -> &ToolInfo {
        &INFO
    }

    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn spec_in(&self, dialect: AgentDialect) -> Option<ToolSpec> {
        dialect::spec(&self.spec, dialect)
    }

    fn normalise(&self, _called_as: &str, input: Value) -> Result<Value, String> {
        arguments::normalise(INFO.name, &ARGUMENTS, input).map(Value::Object)
    }

    fn run(&self, input: Value, context: ToolContext) -> BoxFuture<'static, ToolOutput> {
        let processes = self.processes.clone();
        Box::pin(async move {
            let id = text(&input, "task_id").to_owned();
            match (caller(&context), processes) {
                (_, Some(processes)) if id.starts_with("prc_") => {
                    processes.run(input, context).await
                }
                (Ok(caller), _) => stop_run(&caller, &id).await,
                (Err(output), _) => *output,
            }
        })
    }
}

async fn stop_run(caller: &Caller, id: &str) -> ToolOutput {
    let Some((row, task)) = task_of(caller, id).await else {
        return not_found(id);
    };
    let Some(child) = row.child else {
        return not_found(id);
    };
    let runtime = &caller.context;
    if let Some(end) = look(runtime, &task).await {
        return ToolOutput::done(format!("Task \"{task}\" {}.", already(&end)));
    }
    let told = runtime.delegations.subscribe(&task);
    let _ = runtime
        .session_actions
        .send(SessionAction::Cancel(child.clone(), task.clone()));
    let ended = tokio::time::timeout(GRACE, told).await;
    let Ok(Ok(end)) = ended else {
        return ToolOutput::done(format!("Task \"{task}\" has been told to stop."));
    };
    let agent = row
        .data
        .get("agent")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned();
    let how = if end.status == RunStatus::Cancelled {
        "was stopped".to_owned()
    } else {
        already(&end)
    };
    let note = rooftree_protocol::event::TaskNote {
        task: task.clone(),
        session: child,
        agent,
        status: None,
        verified: None,
        usage: None,
        share: None,
        outside: false,
        cached: false,
    };
    // What it had said is part of the answer: the inbox need not tell it again.
    let mut words = format!("Task \"{task}\" {how}.");
    if !end.text.trim().is_empty() {
        words = format!("{words} It had said:\n{}", end.text.trim());
    }
    ToolOutput {
        failure: None,
        ..answer::output(note, &end, words)
    }
}

/// How a task had ended before it was told to stop.
fn already(end: &RunEnd) -> String {
    match &end.error {
        _ if end.is_success() => "is already completed".to_owned(),
        Some(problem) => format!("has already ended: {} ({})", end.summary(), problem.message),
        None => format!("has already ended: {}", end.summary()),
    }
}

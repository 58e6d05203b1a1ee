//! The tools that ask other agents. They live here because they need the runtime; to an agent
//! they are tools like any other.

mod apply_workspace;
mod discard_workspace;
mod list_agents;
mod send_message;
mod task;
mod task_list;
mod task_output;
mod task_stop;

use std::sync::Arc;

use rooftree_protocol::{ErrorCode, Problem, RunId};
use rooftree_store::{TaskRow, TaskStatus};
use rooftree_tools::{Tool, ToolContext, ToolOutput, Toolset, toolset::ToolLookup};
use rooftree_workspace::Workspace;

use super::target;
use crate::caller::Caller;

/// These tools, with those of delegation. What stops and shows processes now does so for agents too.
pub fn with_tools(tools: &Toolset) -> Toolset {
    let added = all(tools);
    let is_replaced =
        |tool: &&Arc<dyn Tool>| added.iter().any(|new| new.spec().name == tool.spec().name);
    let kept: Vec<Arc<dyn Tool>> = tools
        .iter()
        .filter(|tool| !is_replaced(tool))
        .cloned()
        .collect();
    Toolset::new(kept.into_iter().chain(added))
}

/// Their order is part of a cached prompt: new ones go to the end.
fn all(tools: &Toolset) -> Vec<Arc<dyn Tool>> {
    let known = |name: &str| {
        if let ToolLookup::Tool(tool) = tools.find(name) {
            Some(tool)
        } else {
            None
        }
    };
    vec![
        Arc::new(task::TaskTool::new()),
        Arc::new(task_output::TaskOutputTool::new(known("BashOutput"))),
        Arc::new(task_stop::AgentTaskStopTool::new(known("TaskStop"))),
        Arc::new(task_list::TaskListTool::new()),
        Arc::new(list_agents::ListAgentsTool::new()),
        Arc::new(send_message::SendMessageTool::new()),
        Arc::new(apply_workspace::ApplyWorkspaceTool::new()),
        Arc::new(discard_workspace::DiscardWorkspaceTool::new()),
    ]
}

/// The caller. Outside of a run these tools fail.
fn caller(context: &ToolContext) -> Result<Arc<Caller>, Box<ToolOutput>> {
    Caller::of(context).ok_or_else(|| {
        ToolOutput::failed(ErrorCode::Internal, "this tool only works within a run").into()
    })
}

/// A delegated run of this session, by its id, or by any name of the session it runs in: then the last one there.
async fn task_of(caller: &Caller, id: &str) -> Option<(TaskRow, RunId)> {
    let store = caller.context.store();
    let task = match store.task(id).await.ok()? {
        Some(task) => task,
        None => {
            let session = target::called(caller, id).await.ok()??;
            let tasks = rooftree_store::TaskFilter::of(&caller.session.id);
            let tasks = store.tasks(tasks).await.ok()?;
            let is_there = |task: &TaskRow| task.child.as_ref() == Some(&session.id);
            tasks
                .into_iter()
                .filter(is_there)
                .max_by_key(|task| task.started_at)?
        }
    };
    let run = RunId::parse(&task.id).ok()?;
    (task.session == caller.session.id && task.child.is_some()).then_some((task, run))
}

/// The working copy of a task.
async fn workspace_of(caller: &Caller, id: &str) -> Result<Workspace, Box<ToolOutput>> {
    let Some((task, _)) = task_of(caller, id).await else {
        return Err(not_found(id).into());
    };
    if task.status == TaskStatus::Running {
        let words = format!("Task \"{id}\" is still running.");
        return Err(ToolOutput::failed(ErrorCode::ToolFailed, words).into());
    }
    let copy = task.data.get("workspace").cloned();
    copy.and_then(|copy| serde_json::from_value(copy).ok())
        .ok_or_else(|| {
            let words = format!(
                "Task \"{id}\" had no working copy of its own: what it changed is in place."
            );
            ToolOutput::failed(ErrorCode::ToolFailed, words).into()
        })
}

/// The error output for a failed workspace operation.
fn in_trouble(problem: &Problem) -> ToolOutput {
    let more = [&problem.cause, &problem.fix]
        .into_iter()
        .flatten()
        .map(|more| format!(" {more}."));
    ToolOutput::failed(
        ErrorCode::ToolFailed,
        format!("{}.{}", problem.message, more.collect::<String>()),
    )
}

fn not_found(id: &str) -> ToolOutput {
    ToolOutput::failed(ErrorCode::TaskNotFound, format!("Task \"{id}\" not found."))
}

//! Finds the task that was typed: a full id, or its last characters.

use std::sync::Arc;

use rooftree_process::{ProcessIdentity, is_alive};
use rooftree_protocol::{ErrorCode, Problem, RunId, SessionId};
use rooftree_runtime::{Clock, SystemClock, settle_orphaned_programs};
use rooftree_store::{Owner, Store, TaskRow, TaskStatus};

use crate::{commands::sessions::open_read_only, environment::Environment};

/// The database to look at, which must be there.
pub fn store(environment: &Environment) -> Result<Arc<dyn Store>, Problem> {
    open_read_only(environment)?.ok_or_else(|| {
        Problem::new(ErrorCode::TaskNotFound, "there are no tasks yet")
            .fix("agents start them; rooftree demo shows how")
    })
}

/// Ends the rows of background programs whose process was killed. Where the database cannot be written, they stay as
/// they are.
pub async fn settle_left(environment: &Environment, tasks: &[TaskRow]) -> Result<bool, Problem> {
    if !tasks
        .iter()
        .any(|task| task.status == TaskStatus::Running && task.kind == "process")
    {
        return Ok(false);
    }
    let Ok(store) = environment.store() else {
        return Ok(false);
    };
    let settled = settle_orphaned_programs(store.as_ref(), None, SystemClock.now()).await;
    Ok(settled.map_err(|error| error.problem())? > 0)
}

/// The one task that is meant.
pub async fn task(store: &dyn Store, typed: &str) -> Result<TaskRow, Problem> {
    let found = store.task(typed).await.map_err(|error| error.problem())?;
    found.ok_or_else(|| {
        Problem::new(
            ErrorCode::TaskNotFound,
            format!("there is no task `{typed}`, or more than one"),
        )
        .fix("rooftree tasks list --all shows what there is; type 4 or more characters of an id")
    })
}

/// The session and the run of a task that is an agent; none for a program.
pub fn agent(task: &TaskRow) -> Option<(SessionId, RunId)> {
    Some((task.child.clone()?, RunId::parse(&task.id).ok()?))
}

/// Whether no process works on a task that has not ended: it goes on when its session does, or not at all.
pub async fn is_left(store: &dyn Store, task: &TaskRow) -> Result<bool, Problem> {
    if let (None, Some((group, start))) = (&task.child, task.process_group) {
        return Ok(!is_alive(ProcessIdentity { group, start }));
    }
    let worker = task.child.as_ref().unwrap_or(&task.session);
    let owner = store.owner(worker).await.map_err(|error| error.problem())?;
    Ok(owner.is_none_or(|owner| owner.is_dead_for(&Owner::this_process())))
}

/// For what only agents can do.
pub fn needs_agent(task: &TaskRow, what: &str) -> Problem {
    Problem::new(
        ErrorCode::InvalidArguments,
        format!("{} is a program, which cannot {what}", task.id),
    )
    .fix("rooftree tasks list shows which tasks are agents")
}

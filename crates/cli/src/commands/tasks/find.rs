//! Finds the task that was typed: a full id, its last characters, or the session that it works in.

use rooftree_process::{ProcessIdentity, is_alive};
use rooftree_protocol::{ErrorCode, Problem, RunId, SessionId};
use rooftree_runtime::{Handle, Queries};
use rooftree_store::{Owner, SessionFilter, TaskFilter, TaskRow, TaskStatus};

use crate::{
    environment::Environment,
    id_lookup::{self, IdCandidate, MOST_CANDIDATES, TASK},
};

/// The tasks to look at, of which there must be some.
pub fn queries(environment: &Environment) -> Result<Queries, Problem> {
    environment.queries()?.ok_or_else(none_yet)
}

/// The way to change one of the tasks there are.
pub fn control(environment: &Environment) -> Result<Handle, Problem> {
    if environment.database.exists() {
        environment.control()
    } else {
        Err(none_yet())
    }
}

fn none_yet() -> Problem {
    Problem::new(ErrorCode::TaskNotFound, "there are no tasks yet")
        .fix("agents start them; rooftree demo shows how")
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
    let Ok(handle) = environment.control() else {
        return Ok(false);
    };
    let settled = handle.settle_programs(None).await;
    Ok(settled.map_err(|error| error.problem())? > 0)
}

/// The one task that is meant: by its id, or by the id or name of the session that it works in.
pub async fn task(queries: &Queries, typed: &str) -> Result<TaskRow, Problem> {
    match by_id(queries, typed).await {
        Err(problem) if problem.code == ErrorCode::TaskNotFound => {
            in_session(queries, typed).await?.ok_or(problem)
        }
        found => found,
    }
}

/// The last task that works in a session of this name.
async fn in_session(queries: &Queries, typed: &str) -> Result<Option<TaskRow>, Problem> {
    let called = SessionFilter {
        called: Some(typed.to_owned()),
        limit: 2,
        ..SessionFilter::default()
    };
    let mut sessions = queries
        .sessions(called)
        .await
        .map_err(|error| error.problem())?;
    let (Some(session), true) = (sessions.pop(), sessions.is_empty()) else {
        return Ok(None);
    };
    let all = TaskFilter {
        session: session.parent.as_ref().map(|parent| parent.session.clone()),
        ..TaskFilter::default()
    };
    let tasks = queries.tasks(all).await.map_err(|error| error.problem())?;
    let own = tasks
        .into_iter()
        .filter(|task| task.child.as_ref() == Some(&session.id));
    Ok(own.max_by_key(|task| task.started_at))
}

async fn by_id(queries: &Queries, typed: &str) -> Result<TaskRow, Problem> {
    let filter = TaskFilter {
        ending: Some(typed.to_owned()),
        limit: MOST_CANDIDATES + 1,
        ..TaskFilter::default()
    };
    let found = queries.tasks(filter).await;
    let found = found.map_err(|error| error.problem())?;
    let candidates = found.into_iter().map(|task| IdCandidate {
        id: task.id.clone(),
        description: format!("{}, {}", task.id, task.title),
        value: task,
    });
    id_lookup::one(TASK, typed, candidates.collect())
}

/// The session and the run of a task that is an agent; none for a program.
pub fn agent(task: &TaskRow) -> Option<(SessionId, RunId)> {
    Some((task.child.clone()?, RunId::parse(&task.id).ok()?))
}

/// Whether no process works on a task that has not ended: it goes on when its session does, or not at all.
pub async fn is_left(store: &Queries, task: &TaskRow) -> Result<bool, Problem> {
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

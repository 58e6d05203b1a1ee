//! Finds the task that was typed: a full id, its last characters, or the session that it works in.

use std::{sync::Arc, time::Duration};

use rooftree_client::{ListedTask, RuntimeClient, SessionQuery, TaskQuery};
use rooftree_protocol::{ErrorCode, Problem, RunId, SessionId};
use rooftree_runtime::Queries;
use rooftree_store::{TaskRow, TaskStatus};
use tokio::sync::watch;

use crate::{
    environment::Environment,
    id_lookup::{self, IdCandidate, TASK},
    server_connection::address,
};

/// The runtime whose tasks to look at, wherever it is.
pub fn reader(environment: &Environment) -> Result<Arc<dyn RuntimeClient>, Problem> {
    environment.client()?.ok_or_else(none_yet)
}

/// The tasks to look at, of which there must be some.
pub fn queries(environment: &Environment) -> Result<Queries, Problem> {
    environment.queries()?.ok_or_else(none_yet)
}

/// Notifications of the database of this machine; a server has none.
pub fn changes(environment: &Environment) -> Result<Option<watch::Receiver<u64>>, Problem> {
    if address(environment).is_some() {
        return Ok(None);
    }
    queries(environment).map(|queries| Some(queries.changes()))
}

/// The error if there is no database.
pub fn none_yet() -> Problem {
    Problem::new(ErrorCode::TaskNotFound, "there are no tasks yet")
        .fix("agents start them; rooftree demo shows how")
}

/// Ends the rows of background programs whose process was killed. Where the database cannot be written, they stay as
/// they are.
pub async fn settle_left(environment: &Environment, tasks: &[TaskRow]) -> Result<bool, Problem> {
    let is_program = |task: &TaskRow| task.status == TaskStatus::Running && task.kind == "process";
    // A server settles its own.
    if address(environment).is_some() || !tasks.iter().any(is_program) {
        return Ok(false);
    }
    let Ok(handle) = environment.control() else {
        return Ok(false);
    };
    let settled = handle.settle_programs(None).await;
    Ok(settled.map_err(|error| error.problem())? > 0)
}

/// The one task that is meant: by its id, or by the id or name of the session that it works in.
pub async fn task(client: &dyn RuntimeClient, typed: &str) -> Result<TaskRow, Problem> {
    match by_id(client, typed).await {
        Err(problem) if problem.code == ErrorCode::TaskNotFound => {
            in_session(client, typed).await?.ok_or(problem)
        }
        found => found,
    }
}

/// A task that was found before, as it is now.
pub async fn again(client: &dyn RuntimeClient, id: &str) -> Result<ListedTask, Problem> {
    let query = TaskQuery {
        ending: Some(id.to_owned()),
        ..TaskQuery::default()
    };
    let found = client.listed_tasks(query).await?;
    let found = found.into_iter().find(|listed| listed.task.id == id);
    found.ok_or_else(|| id_lookup::missing(TASK, id))
}

/// Waits for a change of the tasks: a notification of the database of this machine, or a while.
pub async fn changed(changes: Option<&mut watch::Receiver<u64>>, patience: Duration) {
    match changes {
        // A notification may be missed: then the timeout polls.
        Some(changes) => drop(tokio::time::timeout(patience, changes.changed()).await),
        None => tokio::time::sleep(patience).await,
    }
}

/// The last task that works in a session of this name.
async fn in_session(client: &dyn RuntimeClient, typed: &str) -> Result<Option<TaskRow>, Problem> {
    let called = SessionQuery {
        called: Some(typed.to_owned()),
        limit: Some(2),
        ..SessionQuery::default()
    };
    let mut sessions = client.sessions(called).await?;
    let (Some(session), true) = (sessions.pop(), sessions.is_empty()) else {
        return Ok(None);
    };
    let parent = session.parent.as_ref().map(|parent| &parent.session);
    let tasks = client.tasks(parent).await?;
    let own = tasks
        .into_iter()
        .filter(|task| task.child.as_ref() == Some(&session.id));
    Ok(own.max_by_key(|task| task.started_at))
}

async fn by_id(client: &dyn RuntimeClient, typed: &str) -> Result<TaskRow, Problem> {
    let query = TaskQuery {
        ending: Some(typed.to_owned()),
        ..TaskQuery::default()
    };
    let found = client.listed_tasks(query).await?;
    let candidates = found
        .into_iter()
        .map(|ListedTask { task, .. }| IdCandidate {
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

/// For what only agents can do.
pub fn needs_agent(task: &TaskRow, what: &str) -> Problem {
    Problem::new(
        ErrorCode::InvalidArguments,
        format!("{} is a program, which cannot {what}", task.id),
    )
    .fix("rooftree tasks list shows which tasks are agents")
}

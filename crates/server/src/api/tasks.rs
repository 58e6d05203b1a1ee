//! Background tasks, agents and programs: lists and shows them, reads output, stops them, sends messages.

use std::sync::Arc;

use axum::{
    Json,
    extract::{Path, State},
    http::StatusCode,
};
use rooftree_protocol::{
    AccessScope, Command, ErrorCode, Origin, Part, Principal, ProcessId, RunId, SessionId,
    Timestamp,
    api_paths::{TASK, TASK_OUTPUT, TASK_SEND, TASK_STOP, TASKS},
    command::{Address, Delivery},
};
use rooftree_runtime::Queries;
use rooftree_store::{TaskFilter, TaskRow, TaskStatus};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    ApiProblem, ApiState,
    access::RequestPrincipal,
    extract::{JsonBody, QueryParameters},
    messages::AcceptedPost,
    page,
    route_table::ApiRoute,
    sessions,
};

pub(super) fn routes() -> Vec<ApiRoute> {
    vec![
        ApiRoute::get(TASKS, list)
            .needs(
                AccessScope::Read,
                "Lists background agents and programs, the latest first",
            )
            .query::<TaskListQuery>()
            .answers::<TaskListPage>(200),
        ApiRoute::get(TASK, show)
            .needs(AccessScope::Read, "Shows one task")
            .answers::<TaskItem>(200),
        ApiRoute::get(TASK_OUTPUT, output)
            .needs(AccessScope::Read, "Reads what a program wrote")
            .query::<TaskOutputQuery>()
            .answers::<TaskOutputText>(200),
        ApiRoute::post(TASK_STOP, stop)
            .needs(AccessScope::Chat, "Stops a task")
            .answers_nothing(202)
            .fails(&[409]),
        ApiRoute::post(TASK_SEND, send)
            .needs(
                AccessScope::Chat,
                "Sends a message to a background agent, which reads it before its next turn",
            )
            .body::<TaskMessage>()
            .answers::<AcceptedPost>(202)
            .fails(&[409]),
    ]
}

/// Which tasks to list.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct TaskListQuery {
    /// Only of this session.
    session: Option<String>,
    /// Only those in this state.
    state: Option<TaskState>,
    /// Only those whose id ends so.
    ending: Option<String>,
    /// Where the page begins: `next` of the page before.
    cursor: Option<String>,
    /// At most this many, up to 200.
    limit: Option<usize>,
}

/// One page of tasks.
#[derive(Debug, Serialize, JsonSchema)]
struct TaskListPage {
    /// The tasks.
    tasks: Vec<TaskItem>,
    /// The cursor of the next page; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

/// How a task is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum TaskState {
    /// At work.
    Running,
    /// Ended well.
    Completed,
    /// Ended badly.
    Failed,
    /// Stopped by a user or an agent.
    Cancelled,
}

/// A background agent or program.
#[derive(Debug, Serialize, JsonSchema)]
struct TaskItem {
    /// Its id.
    task: String,
    /// The session that started it.
    session: SessionId,
    /// `process` or `agent`.
    kind: String,
    /// In a few words.
    title: String,
    /// How it is.
    state: TaskState,
    /// Exit code or signal, in words.
    detail: String,
    /// Since when.
    started_at: Timestamp,
    /// Until when.
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_at: Option<Timestamp>,
    /// For an agent: the session it works in.
    #[serde(skip_serializing_if = "Option::is_none")]
    child: Option<SessionId>,
    /// For an agent: its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    /// Not ended, and no process works on it: it goes on when its session does.
    is_left: bool,
}

/// Where to begin.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct TaskOutputQuery {
    /// Only what was written after so many bytes.
    after: u64,
}

/// What a program wrote.
#[derive(Debug, Serialize, JsonSchema)]
struct TaskOutputText {
    /// How many bytes came before it; more than was asked for if some are not kept any more.
    start: u64,
    /// How many bytes there are with it: `after` of the next request.
    end: u64,
    /// The text.
    text: String,
}

/// What to say to a background agent.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct TaskMessage {
    /// The words.
    #[schemars(length(min = 1))]
    text: String,
}

/// A task with whether a process works on it.
async fn item(queries: &Queries, row: TaskRow) -> Result<TaskItem, ApiProblem> {
    let is_left = row.status == TaskStatus::Running && queries.is_left(&row).await?;
    let agent = row.data.get("agent").and_then(|agent| agent.as_str());
    Ok(TaskItem {
        agent: agent.map(str::to_owned),
        is_left,
        task: row.id,
        session: row.session,
        kind: row.kind,
        title: row.title,
        state: match row.status {
            TaskStatus::Running => TaskState::Running,
            TaskStatus::Completed => TaskState::Completed,
            TaskStatus::Failed => TaskState::Failed,
            TaskStatus::Cancelled => TaskState::Cancelled,
        },
        detail: row.detail,
        started_at: row.started_at,
        ended_at: row.ended_at,
        child: row.child,
    })
}

async fn list(
    State(state): State<Arc<ApiState>>,
    RequestPrincipal(who): RequestPrincipal,
    QueryParameters(query): QueryParameters<TaskListQuery>,
) -> Result<Json<TaskListPage>, ApiProblem> {
    let session = match &query.session {
        Some(session) => Some(sessions::find(&state, &who, session).await?.id),
        None => None,
    };
    let limit = page::limit(query.limit);
    let filter = TaskFilter {
        session,
        ending: query.ending,
        after: page::decode(query.cursor.as_deref())?,
        limit: limit + 1,
        ..TaskFilter::default()
    };
    let queries = state.options.handle.queries(&who);
    let rows = queries.tasks(filter).await?;
    let last = rows.get(limit - 1).filter(|_| rows.len() > limit);
    let next = last.map(|last| page::encode(&last.id));
    let mut tasks = Vec::new();
    for row in rows.into_iter().take(limit) {
        let task = item(&queries, row).await?;
        if query.state.is_none_or(|state| state == task.state) {
            tasks.push(task);
        }
    }
    Ok(Json(TaskListPage { tasks, next }))
}

async fn show(
    State(state): State<Arc<ApiState>>,
    RequestPrincipal(who): RequestPrincipal,
    Path(id): Path<String>,
) -> Result<Json<TaskItem>, ApiProblem> {
    let row = find(&state, &who, &id).await?;
    let queries = state.options.handle.queries(&who);
    item(&queries, row).await.map(Json)
}

async fn output(
    State(state): State<Arc<ApiState>>,
    RequestPrincipal(who): RequestPrincipal,
    Path(id): Path<String>,
    QueryParameters(TaskOutputQuery { after }): QueryParameters<TaskOutputQuery>,
) -> Result<Json<TaskOutputText>, ApiProblem> {
    let row = find(&state, &who, &id).await?;
    let pieces = state
        .options
        .handle
        .queries(&who)
        .output(&row.id, after)
        .await?;
    let start = pieces.first().map_or(after, |piece| piece.start);
    let end = pieces.last().map_or(after, |piece| piece.end());
    let text = pieces.into_iter().map(|piece| piece.text).collect();
    Ok(Json(TaskOutputText { start, end, text }))
}

async fn stop(
    State(state): State<Arc<ApiState>>,
    RequestPrincipal(who): RequestPrincipal,
    Path(id): Path<String>,
) -> Result<StatusCode, ApiProblem> {
    let row = running(&state, &who, &id).await?;
    let command = match (&row.child, RunId::parse(&row.id)) {
        (Some(child), Ok(run)) => Command::Cancel {
            session: child.clone(),
            run: Some(run),
        },
        _ => Command::StopProcess {
            session: row.session.clone(),
            process: ProcessId::parse(&row.id).map_err(|_| missing(&id))?,
        },
    };
    state.options.handle.send(&who, command).await?;
    Ok(StatusCode::ACCEPTED)
}

async fn send(
    State(state): State<Arc<ApiState>>,
    RequestPrincipal(who): RequestPrincipal,
    Path(id): Path<String>,
    JsonBody(TaskMessage { text }): JsonBody<TaskMessage>,
) -> Result<(StatusCode, Json<AcceptedPost>), ApiProblem> {
    if text.trim().is_empty() {
        return Err(ApiProblem::invalid("a message says something").at("/text"));
    }
    let row = running(&state, &who, &id).await?;
    let Some(child) = row.child else {
        return Err(ApiProblem::conflict(format!(
            "{id} is a program, which reads no messages"
        )));
    };
    let command = Command::Post {
        to: Address::Id { id: child },
        parts: vec![Part::text(text)],
        origin: Origin::User,
        key: None,
        delivery: Delivery::Steer,
        context: None,
    };
    let reply = state.options.handle.send(&who, command).await?;
    let accepted = AcceptedPost::of(reply);
    accepted
        .map(|accepted| (StatusCode::ACCEPTED, Json(accepted)))
        .ok_or_else(|| ApiProblem::conflict("the message was not accepted"))
}

async fn running(state: &ApiState, who: &Principal, id: &str) -> Result<TaskRow, ApiProblem> {
    let row = find(state, who, id).await?;
    if row.status != TaskStatus::Running {
        return Err(ApiProblem::conflict(format!("{id} has ended already")));
    }
    Ok(row)
}

/// The task with exactly this id, if the caller may see its session.
async fn find(state: &ApiState, who: &Principal, id: &str) -> Result<TaskRow, ApiProblem> {
    let found = state.options.handle.queries(who).task(id).await?;
    found
        .filter(|found| found.id == id)
        .ok_or_else(|| missing(id))
}

fn missing(id: &str) -> ApiProblem {
    ApiProblem::not_found(ErrorCode::TaskNotFound, format!("there is no task {id}"))
}

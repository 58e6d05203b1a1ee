//! Actions on a session: clear, resume, restore, fork, switch to another agent and back, undo, todos.

use std::sync::Arc;

use axum::{
    Json,
    extract::{Path, State},
    http::StatusCode,
    response::{IntoResponse, Response},
};
use rooftree_protocol::{
    AccessScope, Command, EventBody, Part, RunId, Session, Todo,
    api_paths::{
        SESSION_BACK, SESSION_CLEAR, SESSION_FORK, SESSION_RESTORE, SESSION_RESUME, SESSION_SWITCH,
        SESSION_TODOS, SESSION_UNDO,
    },
    command::{CommandReply, HandBackSummary},
    file_undo::FileUndo,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    ApiProblem, ApiState,
    access::RequestPrincipal,
    extract::JsonBody,
    messages::AcceptedPost,
    route_table::ApiRoute,
    sessions::{checked_name, find, find_live, session_after, usable_agent},
};

pub(super) fn routes() -> Vec<ApiRoute> {
    let chat = AccessScope::Chat;
    vec![
        ApiRoute::post(SESSION_CLEAR, clear)
            .needs(chat, "Lets a session forget its context; its journal stays")
            .answers_nothing(202)
            .fails(&[409]),
        ApiRoute::post(SESSION_RESUME, resume)
            .needs(chat, "Lets a session go on with what is unfinished")
            .answers::<Session>(202)
            .fails(&[409]),
        ApiRoute::post(SESSION_RESTORE, restore)
            .needs(chat, "Brings a deleted session back")
            .answers::<Session>(200)
            .fails(&[409]),
        ApiRoute::post(SESSION_FORK, fork)
            .needs(chat, "Branches a new session off a session's journal")
            .body::<SessionFork>()
            .answers::<Session>(201)
            .fails(&[409]),
        ApiRoute::post(SESSION_SWITCH, switch)
            .needs(chat, "Hands a conversation over to another agent, which goes on with all of it in a new session")
            .body::<SessionSwitch>()
            .answers::<Session>(201)
            .fails(&[409]),
        ApiRoute::post(SESSION_BACK, back)
            .needs(chat, "Tells the session that a conversation was handed over from what was said since")
            .body::<SessionBack>()
            .answers::<AcceptedPost>(202)
            .answers_nothing(204)
            .fails(&[409]),
        ApiRoute::get(SESSION_UNDO, undo_preview)
            .needs(AccessScope::Read, "Shows which file changes of the last run would be taken back")
            .answers::<UndoPreview>(200),
        ApiRoute::post(SESSION_UNDO, undo)
            .needs(chat, "Takes back the file changes of the last run that has any")
            .body::<UndoRequest>()
            .answers::<FileUndo>(200)
            .fails(&[409]),
        ApiRoute::get(SESSION_TODOS, todos)
            .needs(AccessScope::Read, "Shows the todo list of a session")
            .answers::<TodoList>(200),
    ]
}

/// Where to branch off.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct SessionFork {
    /// The last event to take over; the newest if absent.
    at: Option<u64>,
    /// What to call the new session.
    name: Option<String>,
    /// What to say to it first.
    text: Option<String>,
}

/// Who goes on with a conversation.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SessionSwitch {
    /// The agent that goes on.
    agent: String,
    /// What to say to it first.
    #[serde(default)]
    text: Option<String>,
    /// What to call the new session.
    #[serde(default)]
    name: Option<String>,
}

/// What the session is told that a conversation was handed over from.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct SessionBack {
    /// An extract at once, or a summary that a model writes.
    summary: HandBackSummary,
}

/// Which changes to take back.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct UndoRequest {
    /// Only if this is the run whose changes are taken back: the one that was previewed.
    run: Option<String>,
}

/// What an undo would do now.
#[derive(Debug, Serialize, JsonSchema)]
struct UndoPreview {
    /// Absent if nothing is left to take back.
    undo: Option<FileUndo>,
}

/// The todo list of a session.
#[derive(Debug, Serialize, JsonSchema)]
struct TodoList {
    /// Its items.
    items: Vec<Todo>,
}

async fn clear(
    State(state): State<Arc<ApiState>>,
    RequestPrincipal(who): RequestPrincipal,
    Path(id): Path<String>,
) -> Result<StatusCode, ApiProblem> {
    let command = Command::Clear {
        session: find_live(&state, &who, &id).await?.id,
        unless_busy: false,
    };
    state.options.handle.send(&who, command).await?;
    Ok(StatusCode::ACCEPTED)
}

async fn resume(
    State(state): State<Arc<ApiState>>,
    RequestPrincipal(who): RequestPrincipal,
    Path(id): Path<String>,
) -> Result<(StatusCode, Json<Session>), ApiProblem> {
    let session = find_live(&state, &who, &id).await?.id;
    let resumed = session_after(&state, &who, Command::Resume { session }).await?;
    Ok((StatusCode::ACCEPTED, Json(resumed)))
}

async fn restore(
    State(state): State<Arc<ApiState>>,
    RequestPrincipal(who): RequestPrincipal,
    Path(id): Path<String>,
) -> Result<Json<Session>, ApiProblem> {
    let session = find(&state, &who, &id).await?.id;
    let restored = session_after(&state, &who, Command::Restore { session }).await?;
    Ok(Json(restored))
}

async fn fork(
    State(state): State<Arc<ApiState>>,
    RequestPrincipal(who): RequestPrincipal,
    Path(id): Path<String>,
    JsonBody(wanted): JsonBody<SessionFork>,
) -> Result<(StatusCode, Json<Session>), ApiProblem> {
    let session = find_live(&state, &who, &id).await?;
    if wanted.at.is_some_and(|at| at > session.head) {
        let message = format!("the session has {} events", session.head);
        return Err(ApiProblem::invalid(message).at("/at"));
    }
    let command = Command::Fork {
        session: session.id,
        at: wanted.at,
        name: checked_name(wanted.name)?,
        agent: None,
        message: wanted.text.map(|text| vec![Part::text(text)]),
    };
    let forked = session_after(&state, &who, command).await?;
    Ok((StatusCode::CREATED, Json(forked)))
}

async fn switch(
    State(state): State<Arc<ApiState>>,
    RequestPrincipal(who): RequestPrincipal,
    Path(id): Path<String>,
    JsonBody(wanted): JsonBody<SessionSwitch>,
) -> Result<(StatusCode, Json<Session>), ApiProblem> {
    let session = find_live(&state, &who, &id).await?;
    let command = Command::Fork {
        session: session.id,
        at: Some(session.head),
        name: checked_name(wanted.name)?,
        agent: Some(usable_agent(&state, &who, &wanted.agent)?),
        message: wanted.text.map(|text| vec![Part::text(text)]),
    };
    let switched = session_after(&state, &who, command).await?;
    Ok((StatusCode::CREATED, Json(switched)))
}

async fn back(
    State(state): State<Arc<ApiState>>,
    RequestPrincipal(who): RequestPrincipal,
    Path(id): Path<String>,
    JsonBody(SessionBack { summary }): JsonBody<SessionBack>,
) -> Result<Response, ApiProblem> {
    let session = find_live(&state, &who, &id).await?.id;
    let command = Command::HandBack { session, summary };
    let reply = state.options.handle.send(&who, command).await?;
    // Nothing was said since: there is nothing to tell.
    Ok(match AcceptedPost::of(reply) {
        Some(accepted) => (StatusCode::ACCEPTED, Json(accepted)).into_response(),
        None => StatusCode::NO_CONTENT.into_response(),
    })
}

async fn undo_preview(
    State(state): State<Arc<ApiState>>,
    RequestPrincipal(who): RequestPrincipal,
    Path(id): Path<String>,
) -> Result<Json<UndoPreview>, ApiProblem> {
    let session = find(&state, &who, &id).await?.id;
    let undo = state
        .options
        .handle
        .queries(&who)
        .undo_preview(&session)
        .await?;
    Ok(Json(UndoPreview { undo }))
}

async fn undo(
    State(state): State<Arc<ApiState>>,
    RequestPrincipal(who): RequestPrincipal,
    Path(id): Path<String>,
    JsonBody(UndoRequest { run }): JsonBody<UndoRequest>,
) -> Result<Json<FileUndo>, ApiProblem> {
    let command = Command::Undo {
        session: find_live(&state, &who, &id).await?.id,
        run: run.map(|run| RunId::parse(&run)).transpose()?,
    };
    match state.options.handle.send(&who, command).await? {
        CommandReply::Undone(undone) => Ok(Json(*undone)),
        _ => Err(ApiProblem::conflict("nothing was taken back")),
    }
}

async fn todos(
    State(state): State<Arc<ApiState>>,
    RequestPrincipal(who): RequestPrincipal,
    Path(id): Path<String>,
) -> Result<Json<TodoList>, ApiProblem> {
    let session = find(&state, &who, &id).await?;
    let events = state
        .options
        .handle
        .queries(&who)
        .journal(&session, 0)
        .await?;
    let last = events.into_iter().rev().find_map(|event| match event.body {
        EventBody::TodoUpdated { items } => Some(items),
        _ => None,
    });
    let items = last.unwrap_or_default();
    Ok(Json(TodoList { items }))
}

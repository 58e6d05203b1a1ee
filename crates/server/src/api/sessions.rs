//! Sessions: lists, opens, shows, changes and deletes them.

use std::{
    path::{Path as FilePath, PathBuf},
    sync::Arc,
};

use axum::{
    Json,
    extract::{Path, State},
    http::StatusCode,
};
use rooftree_protocol::{
    AccessScope, AuthorizedCaller, Command, ErrorCode, ModelChoice, Principal, Problem, Session,
    SessionId,
    api_paths::{SESSION, SESSIONS},
    command::{CommandReply, NewSession},
};
use rooftree_runtime::Queries;
use rooftree_store::{SessionFilter, SessionListCursor};

use super::{
    ApiProblem, ApiState,
    access::{RequestCaller, RequestPrincipal},
    extract::{JsonBody, QueryParameters},
    page,
    route_table::ApiRoute,
    session_types::{
        OpenSession, SessionChange, SessionItem, SessionListPage, SessionListQuery,
        SessionStrategyChoice, SessionWorkState,
    },
};

/// Rows that one request looks at to find those that are meant.
const MAX_SCANNED: usize = 2_000;

pub(super) fn routes() -> Vec<ApiRoute> {
    vec![
        ApiRoute::get(SESSIONS, list)
            .needs(
                AccessScope::Read,
                "Lists sessions, most recently updated first",
            )
            .query::<SessionListQuery>()
            .answers::<SessionListPage>(200),
        ApiRoute::post(SESSIONS, create)
            .needs(AccessScope::Chat, "Opens a session, or finds the agent's latest one")
            .body::<OpenSession>()
            .answers::<Session>(200)
            .answers::<Session>(201)
            .fails(&[404, 409]),
        ApiRoute::get(SESSION, show)
            .needs(AccessScope::Read, "Shows one session, deleted ones included")
            .answers::<SessionItem>(200),
        ApiRoute::patch(SESSION, change)
            .needs(AccessScope::Chat, "Changes name, pin, model, attributes or permission mode of a session; the mode needs the scope `approve`")
            .body::<SessionChange>()
            .answers::<Session>(200)
            .fails(&[409]),
        ApiRoute::delete(SESSION, remove)
            .needs(AccessScope::Chat, "Deletes a session; it can be restored")
            .answers_nothing(204),
    ]
}

async fn list(
    State(state): State<Arc<ApiState>>,
    RequestPrincipal(who): RequestPrincipal,
    QueryParameters(query): QueryParameters<SessionListQuery>,
) -> Result<Json<SessionListPage>, ApiProblem> {
    let queries = state.options.handle.queries(&who);
    let limit = page::limit(query.limit);
    let parent = match &query.parent {
        Some(parent) => Some(find(&state, &who, parent).await?.id),
        None => None,
    };
    let only_of_people = parent.is_none() && query.called.is_none() && !query.delegated;
    let mut after: Option<SessionListCursor> = page::decode(query.cursor.as_deref())?;
    let unfinished = queries.unfinished().await?;
    let (mut sessions, mut scanned, mut next) = (Vec::new(), 0, None);
    'pages: while scanned < MAX_SCANNED {
        let filter = SessionFilter {
            agent: query.agent.clone(),
            parent: parent.clone(),
            top_level: only_of_people.then_some(true),
            called: query.called.clone(),
            cwd: query.cwd.clone(),
            deleted: query.deleted,
            after: after.take(),
            limit: page::limit(None),
            ..SessionFilter::default()
        };
        let read = queries.sessions_page(filter).await?;
        for session in read.rows {
            scanned += 1;
            let place = SessionListCursor::from(&session);
            let is_pinned = session.pinned_at.is_some();
            let is_meant = query.pinned.is_none_or(|wanted| wanted == is_pinned)
                && contains(&session, query.q.as_deref());
            if is_meant && who.may_see(&session) {
                let work = work_state(&queries, &session, &unfinished).await?;
                if query.state.is_none_or(|wanted| wanted == work) {
                    if sessions.len() == limit {
                        break 'pages;
                    }
                    sessions.push(SessionItem {
                        session,
                        state: work,
                    });
                }
            }
            next = Some(place);
        }
        after = read.next;
        if after.is_none() {
            next = None;
            break;
        }
    }
    let next = next.as_ref().map(page::encode);
    Ok(Json(SessionListPage { sessions, next }))
}

/// Whether a session's name, agent or last words contain words, without case.
fn contains(session: &Session, words: Option<&str>) -> bool {
    let Some(words) = words.map(str::to_lowercase) else {
        return true;
    };
    let name = session.name.as_deref().unwrap_or_default();
    [name, &session.agent, &session.last_snippet]
        .iter()
        .any(|text| text.to_lowercase().contains(&words))
}

async fn work_state(
    queries: &Queries,
    session: &Session,
    unfinished: &[SessionId],
) -> Result<SessionWorkState, ApiProblem> {
    if !unfinished.contains(&session.id) {
        return Ok(SessionWorkState::Resting);
    }
    Ok(if queries.is_worked_on(&session.id).await? {
        SessionWorkState::Working
    } else {
        SessionWorkState::Unfinished
    })
}

async fn show(
    State(state): State<Arc<ApiState>>,
    RequestPrincipal(who): RequestPrincipal,
    Path(id): Path<String>,
) -> Result<Json<SessionItem>, ApiProblem> {
    let session = find(&state, &who, &id).await?;
    let queries = state.options.handle.queries(&who);
    let unfinished = queries.unfinished().await?;
    let work = work_state(&queries, &session, &unfinished).await?;
    Ok(Json(SessionItem {
        session,
        state: work,
    }))
}

async fn create(
    State(state): State<Arc<ApiState>>,
    RequestCaller(caller): RequestCaller,
    JsonBody(wanted): JsonBody<OpenSession>,
) -> Result<(StatusCode, Json<Session>), ApiProblem> {
    let who = &caller.principal;
    let agent = usable_agent(&state, who, &wanted.agent)?;
    if wanted.strategy != SessionStrategyChoice::Create {
        if let Some(latest) = latest(&state, who, &agent).await? {
            return Ok((StatusCode::OK, Json(latest)));
        }
        if wanted.strategy == SessionStrategyChoice::Latest {
            let message = format!("{agent} has no session");
            return Err(ApiProblem::not_found(ErrorCode::SessionNotFound, message));
        }
    }
    let new = NewSession {
        agent,
        cwd: directory(&state, &caller, wanted.cwd)?,
        name: checked_name(wanted.name)?,
        model: wanted.model.map(|model| parsed_model(&model)).transpose()?,
    };
    let session = session_after(&state, who, Command::Open(new)).await?;
    Ok((StatusCode::CREATED, Json(session)))
}

async fn latest(
    state: &ApiState,
    who: &Principal,
    agent: &str,
) -> Result<Option<Session>, ApiProblem> {
    let filter = SessionFilter {
        agent: Some(agent.to_owned()),
        top_level: Some(true),
        limit: page::limit(None),
        ..SessionFilter::default()
    };
    let found = state.options.handle.queries(who).sessions(filter).await?;
    Ok(found.into_iter().find(|session| who.may_see(session)))
}

async fn change(
    State(state): State<Arc<ApiState>>,
    RequestCaller(caller): RequestCaller,
    Path(id): Path<String>,
    JsonBody(change): JsonBody<SessionChange>,
) -> Result<Json<Session>, ApiProblem> {
    if change.mode.is_some() && !caller.scopes.allow(AccessScope::Approve) {
        return Err(ApiProblem::missing_scope(AccessScope::Approve));
    }
    let who = &caller.principal;
    let session = find(&state, who, &id).await?.id;
    for command in commands(&session, change)? {
        state.options.handle.send(who, command).await?;
    }
    find(&state, who, &id).await.map(Json)
}

/// The commands for a change. All of it is checked before any is sent.
fn commands(id: &SessionId, change: SessionChange) -> Result<Vec<Command>, ApiProblem> {
    let session = || id.clone();
    let mut commands = Vec::new();
    if let Some(model) = change.model {
        commands.push(Command::SetModel {
            session: session(),
            model: model.map(|model| parsed_model(&model)).transpose()?,
        });
    }
    if let Some(name) = change.name {
        commands.push(Command::Rename {
            session: session(),
            name: checked_name(name)?,
        });
    }
    if let Some(pinned) = change.pinned {
        commands.push(Command::Pin {
            session: session(),
            pinned,
        });
    }
    if let Some(attributes) = change.attributes {
        commands.push(Command::SetAttributes {
            session: session(),
            attributes,
        });
    }
    if let Some(mode) = change.mode {
        commands.push(Command::SetMode {
            session: session(),
            mode,
        });
    }
    Ok(commands)
}

async fn remove(
    State(state): State<Arc<ApiState>>,
    RequestPrincipal(who): RequestPrincipal,
    Path(id): Path<String>,
) -> Result<StatusCode, ApiProblem> {
    let session = find(&state, &who, &id).await?.id;
    let command = Command::Delete { session };
    state.options.handle.send(&who, command).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The session with this id; one that the caller may not see is not there.
pub(super) async fn find(
    state: &ApiState,
    who: &Principal,
    id: &str,
) -> Result<Session, ApiProblem> {
    let missing = || {
        ApiProblem::not_found(
            ErrorCode::SessionNotFound,
            format!("there is no session {id}"),
        )
    };
    let id = SessionId::parse(id).map_err(|_| missing())?;
    let found = state.options.handle.queries(who).session(&id).await?;
    found.ok_or_else(missing)
}

/// The session with this id, if it is not deleted.
pub(super) async fn find_live(
    state: &ApiState,
    who: &Principal,
    id: &str,
) -> Result<Session, ApiProblem> {
    let found = find(state, who, id).await?;
    if found.deleted_at.is_some() {
        let problem = Problem::new(
            ErrorCode::SessionNotFound,
            format!("session {id} is deleted"),
        )
        .fix(format!("POST /sessions/{id}/restore brings it back"));
        return Err(problem.into());
    }
    Ok(found)
}

/// Sends a command that makes or changes a session.
pub(super) async fn session_after(
    state: &ApiState,
    who: &Principal,
    command: Command,
) -> Result<Session, ApiProblem> {
    match state.options.handle.send(who, command).await? {
        CommandReply::Session(session) => Ok(*session),
        other => {
            let message = format!("a command about a session was answered with {other:?}");
            Err(Problem::new(ErrorCode::Internal, message).into())
        }
    }
}

/// The own name of an agent, if there is one and the caller's token is for it.
pub(super) fn usable_agent(
    state: &ApiState,
    who: &Principal,
    name: &str,
) -> Result<String, ApiProblem> {
    let found = state.options.definitions.find(name);
    let found = found.map_err(|problem| ApiProblem::from(problem).at("/agent"))?;
    if !who.may_use(&found.name) {
        let message = format!("there is no agent {name} for this token");
        return Err(ApiProblem::not_found(ErrorCode::AgentNotFound, message).at("/agent"));
    }
    Ok(found.name.clone())
}

/// The directory of a new session. Invariant: without `admin` it is the server's own or one below it.
pub(super) fn directory(
    state: &ApiState,
    caller: &AuthorizedCaller,
    wanted: Option<PathBuf>,
) -> Result<PathBuf, ApiProblem> {
    let own = &state.options.cwd;
    let Some(wanted) = wanted else {
        return Ok(own.clone());
    };
    let wrong = |message: String| ApiProblem::invalid(message).at("/cwd");
    let real = |path: &FilePath| {
        let text = path.display().to_string();
        path.canonicalize()
            .ok()
            .filter(|path| path.is_dir())
            .ok_or_else(|| wrong(format!("{text} is not a directory of this machine")))
    };
    let wanted = real(&own.join(wanted))?;
    if !wanted.starts_with(real(own)?) && !caller.scopes.allow(AccessScope::Admin) {
        let message = "a session works in the server's directory or below it".to_owned();
        return Err(wrong(message).with_status(StatusCode::FORBIDDEN));
    }
    Ok(wanted)
}

/// A name that people can read and type.
pub(super) fn checked_name(name: Option<String>) -> Result<Option<String>, ApiProblem> {
    /// Characters of a name.
    const LONGEST: usize = 100;
    let Some(name) = name.map(|name| name.trim().to_owned()) else {
        return Ok(None);
    };
    if name.is_empty() || name.chars().count() > LONGEST || name.contains(char::is_control) {
        let message = format!("a name is one line of 1 to {LONGEST} characters");
        return Err(ApiProblem::invalid(message).at("/name"));
    }
    Ok(Some(name))
}

fn parsed_model(name: &str) -> Result<ModelChoice, ApiProblem> {
    name.parse()
        .map_err(|problem: Problem| ApiProblem::from(problem).at("/model"))
}

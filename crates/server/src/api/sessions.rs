//! Sessions: lists them and shows one.

use std::sync::Arc;

use axum::{
    Json,
    extract::{Path, State},
};
use rooftree_protocol::{
    AccessScope, ErrorCode, Principal, Problem, Session, SessionId,
    api_paths::{SESSION, SESSIONS},
};
use rooftree_store::SessionFilter;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    ApiProblem, ApiState, access::RequestPrincipal, extract::QueryParameters, route_table::ApiRoute,
};

/// Sessions on a page if no number is given.
const PAGE: usize = 50;
/// The most on a page.
const MAX_PAGE: usize = 200;

pub(super) fn routes() -> Vec<ApiRoute> {
    vec![
        ApiRoute::get(SESSIONS, list)
            .needs(
                AccessScope::Read,
                "Lists sessions, most recently updated first",
            )
            .query::<SessionListQuery>()
            .answers::<SessionListPage>(200),
        ApiRoute::get(SESSION, show)
            .needs(AccessScope::Read, "Shows one session")
            .answers::<Session>(200),
    ]
}

/// Which sessions to list.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct SessionListQuery {
    /// Only of this agent.
    agent: Option<String>,
    /// At most this many.
    limit: Option<usize>,
}

/// One page of sessions.
#[derive(Debug, Serialize, JsonSchema)]
struct SessionListPage {
    /// The sessions.
    sessions: Vec<Session>,
}

async fn list(
    State(state): State<Arc<ApiState>>,
    RequestPrincipal(who): RequestPrincipal,
    QueryParameters(query): QueryParameters<SessionListQuery>,
) -> Result<Json<SessionListPage>, ApiProblem> {
    let filter = SessionFilter {
        agent: query.agent,
        top_level: Some(true),
        limit: query.limit.unwrap_or(PAGE).clamp(1, MAX_PAGE),
        ..SessionFilter::default()
    };
    let sessions = state.options.handle.queries(&who).sessions(filter).await?;
    Ok(Json(SessionListPage { sessions }))
}

async fn show(
    State(state): State<Arc<ApiState>>,
    RequestPrincipal(who): RequestPrincipal,
    Path(id): Path<String>,
) -> Result<Json<Session>, ApiProblem> {
    let found = find(&state, &who, &id).await?;
    Ok(Json(found))
}

/// The session with this id; one that the caller may not see is not there.
pub(super) async fn find(
    state: &ApiState,
    who: &Principal,
    id: &str,
) -> Result<Session, ApiProblem> {
    let id = SessionId::parse(id)?;
    let found = state.options.handle.queries(who).session(&id).await?;
    found.ok_or_else(|| {
        let message = format!("there is no session {id}");
        Problem::new(ErrorCode::SessionNotFound, message).into()
    })
}

//! The demo: a session with a scripted model, so that the page can be seen at work without a key.

use std::sync::Arc;

use axum::{Json, extract::State, http::StatusCode};
use rooftree_protocol::{
    AccessScope, Command, ErrorCode, Origin, Part, PermissionMode, Session,
    api_paths::DEMO,
    command::{Address, Delivery, NewSession},
};

use super::{
    ApiProblem, ApiState,
    access::RequestPrincipal,
    route_table::ApiRoute,
    sessions::{session_after, usable_agent},
};

pub(super) fn routes() -> Vec<ApiRoute> {
    vec![
        ApiRoute::post(DEMO, begin)
            .needs(AccessScope::Chat, "Begins a session with a scripted model, which only looks around in the server's directory")
            .answers::<Session>(201)
            .fails(&[404]),
    ]
}

/// Invariant: the session is in plan mode before its message is posted, so a demo changes nothing.
async fn begin(
    State(state): State<Arc<ApiState>>,
    RequestPrincipal(who): RequestPrincipal,
) -> Result<(StatusCode, Json<Session>), ApiProblem> {
    let missing = || ApiProblem::not_found(ErrorCode::AgentNotFound, "this server has no demo");
    let demo = state.options.catalog.demo().ok_or_else(missing)?;
    let new = NewSession {
        agent: usable_agent(&state, &who, &demo.agent)?,
        cwd: state.options.cwd.clone(),
        // Names are unique, and a demo can be seen again.
        name: None,
        model: Some(demo.model),
    };
    let session = session_after(&state, &who, Command::Open(new)).await?;
    let handle = &state.options.handle;
    let mode = Command::SetMode {
        session: session.id.clone(),
        mode: Some(PermissionMode::Plan),
    };
    handle.send(&who, mode).await?;
    let post = Command::Post {
        to: Address::Id {
            id: session.id.clone(),
        },
        parts: vec![Part::text(demo.message)],
        origin: Origin::User,
        key: None,
        delivery: Delivery::Queue,
        context: None,
    };
    handle.send(&who, post).await?;
    Ok((StatusCode::CREATED, Json(session)))
}

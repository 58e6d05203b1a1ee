//! The HTTP API under `/api/v1`: sessions, messages, streams. One table of routes with the scope that each needs.
//!
//! Invariant: a handler runs only after the request was authenticated and its scopes allow what the table says.
//! `route_table.rs` makes both the router and the OpenAPI document out of the same table.

mod access;
mod agent_source;
mod agent_types;
mod agents;
mod archive;
mod attachments;
mod catalog;
mod conversation;
mod extract;
mod inquiry_types;
mod messages;
mod openapi;
mod page;
mod permissions;
mod problem;
mod questions;
mod queue;
pub(crate) mod route_table;
mod rules;
mod run_types;
mod runs;
mod session_actions;
mod session_types;
mod sessions;
mod tasks;

use std::{path::PathBuf, sync::Arc};

use axum::{Json, Router, extract::DefaultBodyLimit, middleware::from_fn_with_state, routing::get};
use rooftree_protocol::api_paths::API_PREFIX;
use rooftree_runtime::{Clock, Definitions, Handle};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

pub(crate) use self::problem::ApiProblem;
use self::route_table::ApiRoute;
use crate::{catalog::ServerCatalog, routes::AppState};

/// What the API serves.
pub struct ApiOptions {
    /// The runtime it controls.
    pub handle: Handle,
    /// The agents there are.
    pub definitions: Definitions,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Where sessions work that name no directory.
    pub cwd: PathBuf,
    /// Lists of what is configured.
    pub catalog: Arc<dyn ServerCatalog>,
}

/// State that all routes of the API share.
pub(crate) struct ApiState {
    pub(crate) app: Arc<AppState>,
    pub(crate) options: ApiOptions,
    pub(crate) stopping: CancellationToken,
}

/// All routes of the API.
fn routes() -> Vec<ApiRoute> {
    let resources = [
        sessions::routes(),
        session_actions::routes(),
        archive::routes(),
        messages::routes(),
        queue::routes(),
        attachments::routes(),
        runs::routes(),
        tasks::routes(),
        permissions::routes(),
        questions::routes(),
        rules::routes(),
        agents::routes(),
        catalog::routes(),
    ];
    resources.into_iter().flatten().collect()
}

/// The OpenAPI document of the API.
pub fn openapi() -> Value {
    openapi::document(&routes())
}

/// The router, below its prefix.
pub(crate) fn router(
    app: Arc<AppState>,
    options: ApiOptions,
    stopping: CancellationToken,
) -> Router {
    let state = Arc::new(ApiState {
        app,
        options,
        stopping,
    });
    let api = route_table::router(routes())
        .fallback(async || ApiProblem::no_route())
        .method_not_allowed_fallback(async || ApiProblem::method_not_allowed())
        .layer(from_fn_with_state(state.clone(), access::authenticate))
        // Bodies have bounds of their own.
        .layer(DefaultBodyLimit::disable())
        .with_state(state);
    // It tells nothing about this installation, so it needs no token.
    let document = get(async || Json(openapi()));
    Router::new()
        .nest(API_PREFIX, api)
        .route("/api/openapi.json", document)
}

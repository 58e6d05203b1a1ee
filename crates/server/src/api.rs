//! The HTTP API under `/api/v1`: sessions, messages, streams. One table of routes with the scope that each needs.
//!
//! Invariant: a handler runs only after the request was authenticated and its scopes allow what the table says.
//! `route_table.rs` makes both the router and the OpenAPI document out of the same table.

mod access;
mod board;
mod extract;
mod problem;
pub(crate) mod route_table;
mod sessions;

use std::{path::PathBuf, sync::Arc};

use axum::{Router, middleware::from_fn_with_state};
use rooftree_protocol::api_paths::API_PREFIX;
use rooftree_runtime::{Clock, Definitions, Handle};
use tokio_util::sync::CancellationToken;

pub use self::board::BoardFrame;
pub(crate) use self::problem::ApiProblem;
use self::route_table::ApiRoute;
use crate::routes::AppState;

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
}

/// State that all routes of the API share.
pub(crate) struct ApiState {
    pub(crate) app: Arc<AppState>,
    pub(crate) options: ApiOptions,
    pub(crate) stopping: CancellationToken,
}

/// All routes of the API.
fn routes() -> Vec<ApiRoute> {
    let routes = [sessions::routes(), board::routes()];
    routes.into_iter().flatten().collect()
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
        .with_state(state);
    Router::new().nest(API_PREFIX, api)
}

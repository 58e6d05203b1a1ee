//! The HTTP routes, one file per resource. Every path that is not listed needs the token, even to get a 404.

pub(crate) mod body;
pub(crate) mod callbacks;
mod completions;
mod models;

use std::sync::Arc;

use axum::{
    Router,
    extract::{ConnectInfo, DefaultBodyLimit, Request, State},
    http::{HeaderMap, StatusCode},
    middleware::{Next, from_fn_with_state},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use rooftree_protocol::Timestamp;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::{
    ApiOptions, agents::ExposedAgents, api, auth::TokenAuth, connections::RequestConnection,
    host_check::HostCheck, openai::errors::ApiError,
};

/// State that all routes share.
pub(crate) struct AppState {
    pub(crate) gate: TokenAuth,
    pub(crate) visitors: HostCheck,
    pub(crate) deliver: callbacks::CallbackHandler,
}

/// State of the routes of agents.
struct AgentApi {
    state: Arc<AppState>,
    agents: Arc<ExposedAgents>,
    since: Timestamp,
    /// One permit for each concurrent request.
    seats: Arc<Semaphore>,
    stopping: CancellationToken,
}

/// The parts of the server that need a runtime.
#[derive(Default)]
pub(crate) struct ServedParts {
    /// Agents as models of OpenAI clients.
    pub(crate) agents: Option<ExposedAgents>,
    /// The API under `/api/v1`.
    pub(crate) api: Option<ApiOptions>,
}

/// All routes; those of agents only if there are any to be reached.
pub(crate) fn router(state: AppState, served: ServedParts, stopping: CancellationToken) -> Router {
    let state = Arc::new(state);
    let ServedParts { agents, api } = served;
    let open = Router::new()
        .route("/callbacks/{token}", post(callbacks::take))
        .route("/healthz", get(health))
        .fallback(not_found)
        .with_state(state.clone());
    let routes = match agents {
        None => open,
        Some(agents) => open.nest(
            "/v1",
            agent_api_router(state.clone(), agents, stopping.clone()),
        ),
    };
    let routes = match api {
        None => routes,
        Some(api) => routes.merge(api::router(state.clone(), api, stopping)),
    };
    routes.layer(from_fn_with_state(state, authorise_connection))
}

/// Counts a connection by what its request may do. Invariant: this is the only place where it gets authority.
async fn authorise_connection(
    State(state): State<Arc<AppState>>,
    request: Request,
    next: Next,
) -> Response {
    if let Some(ConnectInfo(RequestConnection(connection))) =
        request.extensions().get::<ConnectInfo<RequestConnection>>()
    {
        if !state.gate.is_authorised(request.headers()) {
            connection.request_received();
        } else if !connection.authorise() {
            return ApiError::busy(connection.max_per_token()).into_response();
        }
    }
    next.run(request).await
}

fn agent_api_router(
    state: Arc<AppState>,
    agents: ExposedAgents,
    stopping: CancellationToken,
) -> Router {
    let (since, seats) = (agents.clock.now(), Arc::new(Semaphore::new(agents.at_once)));
    let api = Arc::new(AgentApi {
        state,
        agents: Arc::new(agents),
        since,
        seats,
        stopping,
    });
    Router::new()
        .route("/models", get(models::list))
        .route("/models/{name}", get(models::show))
        .route("/chat/completions", post(completions::chat_completions))
        .route("/responses", post(completions::responses))
        .fallback(async || ApiError::no_route())
        .method_not_allowed_fallback(async || ApiError::no_route())
        .layer(from_fn_with_state(api.clone(), require_access))
        // Bodies have a bound of their own.
        .layer(DefaultBodyLimit::disable())
        .with_state(api)
}

/// Invariant: no request that does not pass here learns anything about agents.
async fn require_access(
    State(api): State<Arc<AgentApi>>,
    request: Request,
    next: Next,
) -> Response {
    if let Err(failure) = api.state.visitors.check(request.headers()) {
        return failure.into_response();
    }
    if !api.state.gate.is_authorised(request.headers()) {
        return ApiError::unauthorized().into_response();
    }
    if api.stopping.is_cancelled() {
        return ApiError::stopping().into_response();
    }
    next.run(request).await
}

async fn not_found(State(state): State<Arc<AppState>>, headers: HeaderMap) -> StatusCode {
    if state.gate.is_authorised(&headers) {
        StatusCode::NOT_FOUND
    } else {
        StatusCode::UNAUTHORIZED
    }
}

/// Health check. It needs no token, so it says nothing else.
async fn health() -> &'static str {
    "ok\n"
}

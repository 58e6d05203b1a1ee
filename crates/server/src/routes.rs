//! The HTTP routes, one file per resource. Every path that is not listed needs the token, even to get a 404.

pub(crate) mod callbacks;
mod completions;
mod cors;
mod hooks;
mod models;

use std::sync::Arc;

use axum::{
    Extension, Router,
    extract::{ConnectInfo, DefaultBodyLimit, Request, State},
    http::{HeaderValue, Method, StatusCode, header::AUTHORIZATION, request::Parts},
    middleware::{Next, from_fn_with_state},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use rooftree_protocol::{AccessScope, Timestamp, api_paths::API_PREFIX};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::{
    ApiOptions,
    access::{self, AccessCheck, AccessOutcome, RequestAccess},
    agents::ExposedAgents,
    api,
    connections::RequestConnection,
    connectors::ConnectorRoutes,
    host_check::RefusedHost,
    openai::errors::ApiError,
    ui::{self, UiSource},
};

/// State that all routes share.
pub(crate) struct AppState {
    pub(crate) access: Arc<AccessCheck>,
    pub(crate) deliver: callbacks::CallbackHandler,
    pub(crate) connectors: ConnectorRoutes,
}

/// State of the routes of agents.
struct AgentApi {
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
    /// The page, and where its files come from.
    pub(crate) ui: Option<UiSource>,
    /// The connectors at work.
    pub(crate) connectors: ConnectorRoutes,
}

/// All routes; those of agents only if there are any to be reached.
pub(crate) fn router(state: AppState, served: ServedParts, stopping: CancellationToken) -> Router {
    let state = Arc::new(state);
    let ServedParts {
        agents,
        api,
        ui,
        connectors,
    } = served;
    let open = Router::new()
        .route("/callbacks/{token}", post(callbacks::take))
        .route("/hooks/{connector}", post(hooks::take))
        .route("/healthz", get(health))
        .fallback(not_found)
        .with_state(state.clone());
    let routes = match agents {
        None => open,
        Some(agents) => open.nest("/v1", agent_api_router(agents, stopping.clone())),
    };
    let routes = match api {
        None => routes,
        Some(api) => routes.merge(api::router(
            state.access.clone(),
            (api, connectors),
            stopping,
        )),
    };
    let routes = match ui {
        None => routes,
        Some(source) => routes.merge(ui::router(source)),
    };
    routes.layer(from_fn_with_state(state, authorise_connection))
}

/// Authenticates a request and counts its connection by what it may do. Invariant: this is the only place where either
/// gets authority; routes read the outcome.
async fn authorise_connection(
    State(state): State<Arc<AppState>>,
    request: Request,
    next: Next,
) -> Response {
    let connection = request.extensions().get::<ConnectInfo<RequestConnection>>();
    let Some(ConnectInfo(RequestConnection(connection))) = connection.cloned() else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    let (mut parts, body) = request.into_parts();
    let own_credential = connector_credential(&mut parts);
    let access = state.access.check(&parts, connection.address()).await;
    if let Some(credential) = own_credential {
        parts.headers.insert(AUTHORIZATION, credential);
    }
    match access::connection_key(&access.outcome) {
        None => connection.request_received(),
        Some(token) if !connection.authorise(&token) => {
            return too_many_connections(&parts, connection.max_per_token());
        }
        Some(_) => {}
    }
    let origin = state
        .access
        .allowed_origin(&parts.headers)
        .map(str::to_owned);
    if let Some(origin) = &origin
        && cors::is_preflight(&parts)
        && !matches!(access.outcome, AccessOutcome::Foreign(_))
    {
        return cors::preflight(origin);
    }
    parts.extensions.insert(access);
    let response = next.run(Request::from_parts(parts, body)).await;
    match origin {
        Some(origin) => cors::allowed(response, &origin),
        None => response,
    }
}

/// What a platform presents to its connector, taken out of the request: it is no access token, and not counted as a wrong
/// one.
fn connector_credential(parts: &mut Parts) -> Option<HeaderValue> {
    let is_hook = parts.uri.path().starts_with(hooks::HOOKS);
    is_hook
        .then(|| parts.headers.remove(AUTHORIZATION))
        .flatten()
}

/// The answer on a connection beyond the limit of its token, in the shape of the API it asks.
fn too_many_connections(parts: &Parts, most: usize) -> Response {
    if parts.uri.path().starts_with(API_PREFIX) {
        let message = format!("this token has {most} connections already");
        return api::ApiProblem::busy(message).into_response();
    }
    ApiError::busy(most).into_response()
}

fn agent_api_router(agents: ExposedAgents, stopping: CancellationToken) -> Router {
    let (since, seats) = (agents.clock.now(), Arc::new(Semaphore::new(agents.at_once)));
    let api = Arc::new(AgentApi {
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
    mut request: Request,
    next: Next,
) -> Response {
    let outcome = request.extensions().get::<RequestAccess>();
    let outcome = outcome.map_or(AccessOutcome::Anonymous, |access| access.outcome.clone());
    let caller = match outcome {
        AccessOutcome::Allowed(caller, _) => caller,
        refused => return refused_answer(refused).into_response(),
    };
    let needed = match *request.method() {
        Method::GET | Method::HEAD => AccessScope::Read,
        _ => AccessScope::Chat,
    };
    if !caller.scopes.allow(needed) {
        return ApiError::missing_scope(needed).into_response();
    }
    if api.stopping.is_cancelled() {
        return ApiError::stopping().into_response();
    }
    request.extensions_mut().insert(*caller);
    next.run(request).await
}

/// The answer to a request that may not come in, as OpenAI's clients read it.
fn refused_answer(outcome: AccessOutcome) -> ApiError {
    match outcome {
        AccessOutcome::Foreign(RefusedHost::UnknownName(host)) => ApiError::misdirected(&host),
        AccessOutcome::Foreign(RefusedHost::ForeignPage) | AccessOutcome::Forged => {
            ApiError::foreign_page()
        }
        AccessOutcome::Locked(seconds) => ApiError::locked(seconds),
        AccessOutcome::Unavailable(problem) => ApiError::refused(&problem),
        AccessOutcome::Anonymous | AccessOutcome::Wrong | AccessOutcome::Allowed(..) => {
            ApiError::unauthorized()
        }
    }
}

/// Whether there is such a path is told only to those who may come in.
async fn not_found(Extension(access): Extension<RequestAccess>) -> StatusCode {
    match access.outcome {
        AccessOutcome::Allowed(..) => StatusCode::NOT_FOUND,
        AccessOutcome::Locked(_) => StatusCode::TOO_MANY_REQUESTS,
        _ => StatusCode::UNAUTHORIZED,
    }
}

/// Health check. It needs no token, so it says nothing else.
async fn health() -> &'static str {
    "ok\n"
}

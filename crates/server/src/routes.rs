//! What can be asked for: one noun, one file. Everything that is not listed needs the token, even
//! to be told that it is not there.

mod asking;
mod body;
pub(crate) mod callbacks;
mod health;
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

use crate::{agents::Agents, auth::Gate, connections::Over, openai::failure::Failure, visitors::Visitors};

/// What routes work with.
pub(crate) struct House {
    pub(crate) gate: Gate,
    pub(crate) visitors: Visitors,
    pub(crate) deliver: callbacks::Deliver,
}

/// What the routes of agents work with.
struct Reception {
    house: Arc<House>,
    agents: Arc<Agents>,
    since: Timestamp,
    /// One for each request that is being answered.
    seats: Arc<Semaphore>,
    stopping: CancellationToken,
}

/// All routes; those of agents only if there are any to be reached.
pub(crate) fn all(house: House, agents: Option<Agents>, stopping: CancellationToken) -> Router {
    let house = Arc::new(house);
    let open = Router::new()
        .route("/callbacks/{token}", post(callbacks::take))
        .route("/healthz", get(health::say))
        .fallback(nothing)
        .with_state(house.clone());
    let routes = match agents {
        None => open,
        Some(agents) => open.nest("/v1", of_agents(house.clone(), agents, stopping)),
    };
    routes.layer(from_fn_with_state(house, count))
}

/// Counts a connection by what its request may do. Invariant: this is the only place where it gets authority.
async fn count(State(house): State<Arc<House>>, request: Request, next: Next) -> Response {
    if let Some(ConnectInfo(Over(connection))) = request.extensions().get::<ConnectInfo<Over>>() {
        if !house.gate.opens(request.headers()) {
            connection.heard();
        } else if !connection.authorise() {
            return Failure::busy(connection.most()).into_response();
        }
    }
    next.run(request).await
}

fn of_agents(house: Arc<House>, agents: Agents, stopping: CancellationToken) -> Router {
    let (since, seats) = (agents.clock.now(), Arc::new(Semaphore::new(agents.at_once)));
    let reception = Arc::new(Reception { house, agents: Arc::new(agents), since, seats, stopping });
    Router::new()
        .route("/models", get(models::list))
        .route("/models/{name}", get(models::one))
        .route("/chat/completions", post(asking::chat_completions))
        .route("/responses", post(asking::responses))
        .fallback(async || Failure::no_route())
        .method_not_allowed_fallback(async || Failure::no_route())
        .layer(from_fn_with_state(reception.clone(), admit))
        // Bodies have a bound of their own.
        .layer(DefaultBodyLimit::disable())
        .with_state(reception)
}

/// Invariant: nothing of agents is said to anybody who does not pass here.
async fn admit(State(reception): State<Arc<Reception>>, request: Request, next: Next) -> Response {
    if let Err(failure) = reception.house.visitors.admit(request.headers()) {
        return failure.into_response();
    }
    if !reception.house.gate.opens(request.headers()) {
        return Failure::unauthorized().into_response();
    }
    if reception.stopping.is_cancelled() {
        return Failure::stopping().into_response();
    }
    next.run(request).await
}

async fn nothing(State(house): State<Arc<House>>, headers: HeaderMap) -> StatusCode {
    if house.gate.opens(&headers) { StatusCode::NOT_FOUND } else { StatusCode::UNAUTHORIZED }
}

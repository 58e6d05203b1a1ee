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
mod audit;
mod board;
mod catalog;
mod commands;
mod connectors;
mod conversation;
mod demo;
mod events;
mod extract;
mod html_cache;
mod idempotency;
mod inquiry_types;
mod login;
mod messages;
mod openapi;
mod outbox;
mod page;
mod permissions;
mod persons;
mod problem;
mod providers;
mod questions;
mod queue;
pub(crate) mod route_table;
mod rules;
mod run_types;
mod runs;
mod session_actions;
mod session_types;
mod sessions;
mod stream;
mod tasks;
mod tokens;

use std::{path::PathBuf, sync::Arc};

use axum::{Json, Router, extract::DefaultBodyLimit, middleware::from_fn_with_state, routing::get};
use rooftree_protocol::{AccessScope, api_paths::API_PREFIX};
use rooftree_runtime::{Clock, Definitions, Handle};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

pub(crate) use self::problem::ApiProblem;
use self::{html_cache::HtmlCache, route_table::ApiRoute, stream::StreamRegistry};
use crate::{access::AccessCheck, catalog::ServerCatalog, connectors::ConnectorRoutes};

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
    pub(crate) access: Arc<AccessCheck>,
    pub(crate) options: ApiOptions,
    pub(crate) connectors: ConnectorRoutes,
    pub(crate) streams: StreamRegistry,
    pub(crate) html: Arc<HtmlCache>,
    pub(crate) stopping: CancellationToken,
}

/// All routes of the API.
fn routes() -> Vec<ApiRoute> {
    let parts = [
        sessions::routes(),
        board::routes(),
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
        providers::routes(),
        demo::routes(),
        commands::routes(),
        events::routes(),
        stream::routes(),
        login::routes(),
        tokens::routes(),
        persons::routes(),
        connectors::routes(),
        audit::routes(),
        outbox::routes(),
    ];
    let routes = parts.into_iter().flatten();
    routes.map(ApiRoute::with_key_header).collect()
}

/// A route of the API, for tests that try each of them.
#[derive(Clone, Debug)]
pub struct ListedRoute {
    /// The method.
    pub method: String,
    /// The path below the prefix, parameters in braces.
    pub path: &'static str,
    /// What a token needs for it; none if no token is needed.
    pub scope: Option<AccessScope>,
    /// Whether it reads a JSON body.
    pub has_body: bool,
    /// Whether it may answer with a stream of events, which does not end.
    pub is_stream: bool,
    /// Whether it heeds `Idempotency-Key` for its answer.
    pub heeds_key: bool,
}

/// All routes of the API, from the same table as the router.
pub fn listed_routes() -> Vec<ListedRoute> {
    let routes = routes().into_iter();
    routes
        .map(|route| ListedRoute {
            method: route.method.to_string(),
            path: route.path,
            scope: (!route.is_public).then_some(route.scope),
            has_body: route
                .body
                .as_ref()
                .is_some_and(|body| body.schema.is_some()),
            is_stream: route.is_stream,
            heeds_key: route.keys != idempotency::KeyUse::None,
        })
        .collect()
}

/// The OpenAPI document of the API.
pub fn openapi() -> Value {
    openapi::document(&routes())
}

/// The router, below its prefix.
pub(crate) fn router(
    access: Arc<AccessCheck>,
    (options, connectors): (ApiOptions, ConnectorRoutes),
    stopping: CancellationToken,
) -> Router {
    let boot = format!("{:x}", options.clock.entropy());
    let state = Arc::new(ApiState {
        access,
        streams: StreamRegistry::new(&boot),
        html: Arc::default(),
        options,
        connectors,
        stopping,
    });
    let api = route_table::router(routes(), &state)
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

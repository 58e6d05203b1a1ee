//! Lists the exposed agents as models.

use std::sync::Arc;

use axum::{
    Extension, Json,
    extract::{Path, State},
};
use rooftree_protocol::AuthorizedCaller;
use serde_json::{Value, json};

use super::AgentApi;
use crate::openai::errors::ApiError;

/// `GET /v1/models`
pub(super) async fn list(
    State(api): State<Arc<AgentApi>>,
    Extension(caller): Extension<AuthorizedCaller>,
) -> Json<Value> {
    let names = api.agents.names(&caller.principal);
    let models: Vec<Value> = names.iter().map(|name| model(&api, name)).collect();
    Json(json!({"object": "list", "data": models}))
}

/// `GET /v1/models/{name}`
pub(super) async fn show(
    State(api): State<Arc<AgentApi>>,
    Extension(caller): Extension<AuthorizedCaller>,
    Path(name): Path<String>,
) -> Result<Json<Value>, ApiError> {
    match api.agents.exposed(&caller.principal, &name) {
        Some(_) => Ok(Json(model(&api, &name))),
        None => Err(ApiError::no_model(&name)),
    }
}

/// The creation time of an agent is unknown; the server's start stands for it.
fn model(api: &AgentApi, name: &str) -> Value {
    let created = api.since.0.div_euclid(1_000);
    json!({"id": name, "object": "model", "created": created, "owned_by": "rooftree"})
}

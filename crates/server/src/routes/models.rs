//! Lists the exposed agents as models.

use std::sync::Arc;

use axum::{
    Json,
    extract::{Path, State},
};
use serde_json::{Value, json};

use super::AgentApi;
use crate::openai::errors::ApiError;

/// `GET /v1/models`
pub(super) async fn list(State(reception): State<Arc<AgentApi>>) -> Json<Value> {
    let names = reception.agents.names();
    let models: Vec<Value> = names.iter().map(|name| model(&reception, name)).collect();
    Json(json!({"object": "list", "data": models}))
}

/// `GET /v1/models/{name}`
pub(super) async fn show(
    State(reception): State<Arc<AgentApi>>,
    Path(name): Path<String>,
) -> Result<Json<Value>, ApiError> {
    match reception.agents.exposed(&name) {
        Some(_) => Ok(Json(model(&reception, &name))),
        None => Err(ApiError::no_model(&name)),
    }
}

/// The creation time of an agent is unknown; the server's start stands for it.
fn model(reception: &AgentApi, name: &str) -> Value {
    let created = reception.since.0.div_euclid(1_000);
    json!({"id": name, "object": "model", "created": created, "owned_by": "rooftree"})
}

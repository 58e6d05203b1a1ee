//! The agents that can be asked, listed as models.

use std::sync::Arc;

use axum::{
    Json,
    extract::{Path, State},
};
use serde_json::{Value, json};

use super::Reception;
use crate::openai::failure::Failure;

/// `GET /v1/models`
pub(super) async fn list(State(reception): State<Arc<Reception>>) -> Json<Value> {
    let names = reception.agents.names();
    let models: Vec<Value> = names.iter().map(|name| model(&reception, name)).collect();
    Json(json!({"object": "list", "data": models}))
}

/// `GET /v1/models/{name}`
pub(super) async fn one(
    State(reception): State<Arc<Reception>>,
    Path(name): Path<String>,
) -> Result<Json<Value>, Failure> {
    match reception.agents.exposed(&name) {
        Some(_) => Ok(Json(model(&reception, &name))),
        None => Err(Failure::no_model(&name)),
    }
}

/// Nobody knows when an agent was made: it is here since the server is.
fn model(reception: &Reception, name: &str) -> Value {
    let created = reception.since.0.div_euclid(1_000);
    json!({"id": name, "object": "model", "created": created, "owned_by": "rooftree"})
}

//! What can be asked for: one noun, one file. Everything that is not listed needs the token, even
//! to be told that it is not there.

pub(crate) mod callbacks;
mod health;

use std::sync::Arc;

use axum::{
    Router,
    extract::State,
    http::{HeaderMap, StatusCode},
    routing::{get, post},
};

use crate::auth::Gate;

/// What routes work with.
pub(crate) struct House {
    pub(crate) gate: Gate,
    pub(crate) deliver: callbacks::Deliver,
}

/// All routes.
pub(crate) fn all(house: House) -> Router {
    Router::new()
        .route("/callbacks/{token}", post(callbacks::take))
        .route("/healthz", get(health::say))
        .fallback(nothing)
        .with_state(Arc::new(house))
}

async fn nothing(State(house): State<Arc<House>>, headers: HeaderMap) -> StatusCode {
    if house.gate.opens(&headers) { StatusCode::NOT_FOUND } else { StatusCode::UNAUTHORIZED }
}

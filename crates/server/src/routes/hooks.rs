//! Webhook route of connectors: requests of platforms, which the connector verifies itself.

use std::sync::Arc;

use axum::{
    Extension, Json,
    body::Body,
    extract::{Path, State},
    http::{HeaderMap, StatusCode, header::RETRY_AFTER},
    response::{IntoResponse, Response},
};
use rooftree_connectors::PlatformRequest;
use serde_json::json;

use super::AppState;
use crate::{access::RequestAccess, request_body};

/// What the paths of platforms begin with.
pub(crate) const HOOKS: &str = "/hooks/";
/// Bytes of one request, files in it included.
const BODY_BYTES: usize = 28 << 20;
/// The same for connectors that are no program of the user's own.
const SMALL_BODY_BYTES: usize = 1 << 20;
/// Headers of one request that are looked at.
const HEADERS: usize = 64;

/// `POST /hooks/{connector}`. Invariant: nothing is taken that the connector did not verify; who fails to prove himself
/// too often is locked out.
pub(crate) async fn take(
    State(state): State<Arc<AppState>>,
    Extension(access): Extension<RequestAccess>,
    Path(name): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    if let Some(seconds) = state.access.login_locked(access.client) {
        let wait = [(RETRY_AFTER, seconds.to_string())];
        return (StatusCode::TOO_MANY_REQUESTS, wait).into_response();
    }
    let Some(registered) = state.connectors.registry.find(&name.to_lowercase()) else {
        // Names are not to be found out by trying.
        state.access.login_failed(access.client);
        return StatusCode::NOT_FOUND.into_response();
    };
    let most = match registered.connector.platform() {
        "external" => BODY_BYTES,
        _ => SMALL_BODY_BYTES,
    };
    let body = match request_body::read(&headers, body, most).await {
        Ok(body) => body,
        Err(status) => return status.into_response(),
    };
    let pairs: Vec<(&str, &str)> = headers
        .iter()
        .take(HEADERS)
        .filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)))
        .collect();
    let request = PlatformRequest {
        headers: &pairs,
        body: &body,
        at_ms: state.connectors.clock.now().0,
    };
    let answer = registered.connector.take_request(request).await;
    let status = StatusCode::from_u16(answer.status);
    let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    if matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
        state.access.login_failed(access.client);
    }
    match answer.body.is_null() {
        true => (status, Json(json!({}))).into_response(),
        false => (status, Json(answer.body)).into_response(),
    }
}

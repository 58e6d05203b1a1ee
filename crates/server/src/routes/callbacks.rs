//! Receives the callbacks of external agents. The token in the URL is their only credential.

use std::sync::Arc;

use axum::{
    Json,
    body::Body,
    extract::{Path, State},
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
};
use serde_json::json;

use super::AppState;
use crate::request_body;

/// Bytes of one callback.
pub const BODY_BYTES: usize = 1024 * 1024;

/// A callback that was received.
#[derive(Clone, Debug)]
pub struct IncomingCallback {
    /// What its URL ends with.
    pub token: String,
    /// Its idempotency key, from the header `Idempotency-Key`.
    pub message: Option<String>,
    /// Its payload.
    pub body: Vec<u8>,
}

/// What became of a callback.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallbackOutcome {
    /// It counts.
    Taken,
    /// It came before and counted then.
    Repeated,
    /// The answer is already complete.
    Over,
    /// There is no such callback.
    Unknown,
    /// It is too large.
    TooLarge,
    /// It cannot be understood.
    Unreadable,
}

/// Handles a callback. Must not block.
pub type CallbackHandler = Arc<dyn Fn(IncomingCallback) -> CallbackOutcome + Send + Sync>;

/// `POST /callbacks/{token}`
pub(crate) async fn take(
    State(state): State<Arc<AppState>>,
    Path(token): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let body = match request_body::read(&headers, body, BODY_BYTES).await {
        Ok(body) => Vec::from(body),
        Err(status) => return status.into_response(),
    };
    let message = headers
        .get("idempotency-key")
        .and_then(|value| value.to_str().ok())
        .map(str::to_owned);
    answer((state.deliver)(IncomingCallback {
        token,
        message,
        body,
    }))
}

/// The response, which repeats nothing of the callback.
fn answer(receipt: CallbackOutcome) -> Response {
    let done = |status: &str| Json(json!({"status": status})).into_response();
    match receipt {
        CallbackOutcome::Taken => done("taken"),
        CallbackOutcome::Repeated => done("repeated"),
        CallbackOutcome::Over => StatusCode::GONE.into_response(),
        CallbackOutcome::Unknown => StatusCode::NOT_FOUND.into_response(),
        CallbackOutcome::TooLarge => StatusCode::PAYLOAD_TOO_LARGE.into_response(),
        CallbackOutcome::Unreadable => StatusCode::BAD_REQUEST.into_response(),
    }
}

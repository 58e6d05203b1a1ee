//! Takes the answers of external agents in. The token in the URL is all that lets them in.

use std::sync::Arc;

use axum::{
    Json,
    body::Body,
    extract::{Path, State},
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
};
use serde_json::json;

use super::{House, body};

/// Bytes of one callback.
pub const BODY_BYTES: usize = 1024 * 1024;

/// A callback that has come in.
#[derive(Clone, Debug)]
pub struct Callback {
    /// What its URL ends with.
    pub token: String,
    /// What its sender calls it, from the header `Idempotency-Key`.
    pub message: Option<String>,
    /// What it says.
    pub body: Vec<u8>,
}

/// What became of a callback.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Receipt {
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

/// Does with a callback what is to be done. Must not block.
pub type Deliver = Arc<dyn Fn(Callback) -> Receipt + Send + Sync>;

/// `POST /callbacks/{token}`
pub(crate) async fn take(
    State(house): State<Arc<House>>,
    Path(token): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let body = match body::read(&headers, body, BODY_BYTES).await {
        Ok(body) => Vec::from(body),
        Err(status) => return status.into_response(),
    };
    let message = headers.get("idempotency-key").and_then(|value| value.to_str().ok()).map(str::to_owned);
    answer((house.deliver)(Callback { token, message, body }))
}

/// Says what became of it, and nothing of what it said.
fn answer(receipt: Receipt) -> Response {
    let done = |status: &str| Json(json!({"status": status})).into_response();
    match receipt {
        Receipt::Taken => done("taken"),
        Receipt::Repeated => done("repeated"),
        Receipt::Over => StatusCode::GONE.into_response(),
        Receipt::Unknown => StatusCode::NOT_FOUND.into_response(),
        Receipt::TooLarge => StatusCode::PAYLOAD_TOO_LARGE.into_response(),
        Receipt::Unreadable => StatusCode::BAD_REQUEST.into_response(),
    }
}

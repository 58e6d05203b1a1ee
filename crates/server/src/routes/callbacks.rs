//! Takes the answers of external agents in. The token in the URL is all that lets them in.

use std::{sync::Arc, time::Duration};

use axum::{
    Json,
    body::{Body, Bytes, to_bytes},
    extract::{Path, State},
    http::{HeaderMap, StatusCode, header::CONTENT_LENGTH},
    response::{IntoResponse, Response},
};
use serde_json::json;
use tokio::time::timeout;

use super::House;

/// Bytes of one callback.
pub const BODY_BYTES: usize = 1024 * 1024;
/// How long sending one may take.
const PATIENCE: Duration = Duration::from_secs(30);

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
    let body = match read(&headers, body).await {
        Ok(body) => Vec::from(body),
        Err(status) => return status.into_response(),
    };
    let message = headers.get("idempotency-key").and_then(|value| value.to_str().ok()).map(str::to_owned);
    answer((house.deliver)(Callback { token, message, body }))
}

/// A body within its bounds. One that says beforehand that it is too large is not read at all.
async fn read(headers: &HeaderMap, body: Body) -> Result<Bytes, StatusCode> {
    let announced = headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok());
    if announced.is_some_and(|bytes: usize| bytes > BODY_BYTES) {
        return Err(StatusCode::PAYLOAD_TOO_LARGE);
    }
    match timeout(PATIENCE, to_bytes(body, BODY_BYTES)).await {
        Ok(Ok(body)) => Ok(body),
        // A body that breaks off has nobody left to read the status.
        Ok(Err(_)) => Err(StatusCode::PAYLOAD_TOO_LARGE),
        Err(_) => Err(StatusCode::REQUEST_TIMEOUT),
    }
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

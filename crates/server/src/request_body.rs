//! Reads request bodies with a size limit and a timeout.

use std::time::Duration;

use axum::{
    body::{Body, Bytes, to_bytes},
    http::{HeaderMap, StatusCode, header::CONTENT_LENGTH},
};
use tokio::time::timeout;

/// Timeout for receiving one.
const PATIENCE: Duration = Duration::from_secs(30);

/// A body of at most so many bytes. One that says beforehand that it is too large is not read at all.
pub(crate) async fn read(
    headers: &HeaderMap,
    body: Body,
    most: usize,
) -> Result<Bytes, StatusCode> {
    let announced = headers
        .get(CONTENT_LENGTH)
        .and_then(|value| value.to_str().ok()?.parse().ok());
    if announced.is_some_and(|bytes: usize| bytes > most) {
        return Err(StatusCode::PAYLOAD_TOO_LARGE);
    }
    match timeout(PATIENCE, to_bytes(body, most)).await {
        Ok(Ok(body)) => Ok(body),
        // A body that breaks off has no client left to read the status.
        Ok(Err(_)) => Err(StatusCode::PAYLOAD_TOO_LARGE),
        Err(_) => Err(StatusCode::REQUEST_TIMEOUT),
    }
}

//! Extractors of the API: JSON bodies and query parameters, with errors that name the wrong field.

use axum::{
    body::{Body, Bytes},
    extract::{FromRequest, FromRequestParts, Query, Request},
    http::{HeaderMap, StatusCode, header::CONTENT_TYPE, request::Parts},
};
use rooftree_protocol::{ErrorCode, Problem};
use serde::{Deserialize, Deserializer, de::DeserializeOwned};

use super::ApiProblem;
use crate::request_body;

/// The most bytes a JSON body may have.
pub(super) const MAX_BODY: usize = 1 << 20;
/// The same for an exported session.
pub(super) const MAX_ARCHIVE: usize = 32 << 20;

/// A JSON body of at most `MAX` bytes.
pub(super) struct JsonBody<T, const MAX: usize = MAX_BODY>(pub(super) T);

impl<T: DeserializeOwned, S: Send + Sync, const MAX: usize> FromRequest<S> for JsonBody<T, MAX> {
    type Rejection = ApiProblem;

    async fn from_request(request: Request, _: &S) -> Result<Self, ApiProblem> {
        let (parts, body) = request.into_parts();
        let kind = parts.headers.get(CONTENT_TYPE);
        let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        if kind.split(';').next().map(str::trim) != Some("application/json") {
            let problem = Problem::new(ErrorCode::InvalidArguments, "the body must be JSON")
                .fix("send `Content-Type: application/json`");
            return Err(ApiProblem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, problem));
        }
        let bytes = read_body(&parts.headers, body, MAX).await?;
        let value = serde_json::from_slice(&bytes);
        value.map(Self).map_err(|error| {
            let problem = Problem::new(
                ErrorCode::InvalidArguments,
                "the body does not have the expected shape",
            );
            let problem = problem.cause(error.to_string());
            let status = if error.is_data() {
                StatusCode::UNPROCESSABLE_ENTITY
            } else {
                // Not JSON at all.
                StatusCode::BAD_REQUEST
            };
            ApiProblem::new(status, problem)
        })
    }
}

/// Reads a body of at most so many bytes.
pub(super) async fn read_body(
    headers: &HeaderMap,
    body: Body,
    most: usize,
) -> Result<Bytes, ApiProblem> {
    let read = request_body::read(headers, body, most).await;
    read.map_err(|status| {
        let message = match status {
            StatusCode::REQUEST_TIMEOUT => "the body did not come in time".to_owned(),
            _ => format!("a body has at most {most} bytes"),
        };
        ApiProblem::new(status, Problem::new(ErrorCode::InvalidArguments, message))
    })
}

/// A field that may be absent, null or set: absent is `None`, null is `Some(None)`.
pub(super) fn nullable<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Option<T>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

/// The parameters after `?`.
pub(super) struct QueryParameters<T>(pub(super) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for QueryParameters<T> {
    type Rejection = ApiProblem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiProblem> {
        let query = Query::<T>::from_request_parts(parts, state).await;
        query
            .map(|Query(value)| Self(value))
            .map_err(|error| ApiProblem::invalid_query(&error.body_text()))
    }
}

//! CORS for the origins that are listed: their pages may send tokens, and never cookies.

use axum::{
    http::{
        HeaderMap, HeaderValue, Method, StatusCode,
        header::{
            ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS,
            ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE,
            ACCESS_CONTROL_REQUEST_METHOD, VARY,
        },
        request::Parts,
    },
    response::{IntoResponse, Response},
};

/// Whether a browser asks beforehand what a page may do.
pub(super) fn is_preflight(parts: &Parts) -> bool {
    parts.method == Method::OPTIONS && parts.headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD)
}

/// What a page of this origin may do.
pub(super) fn preflight(origin: &str) -> Response {
    let mut response = allowed(StatusCode::NO_CONTENT.into_response(), origin);
    let headers = response.headers_mut();
    let methods = "GET, POST, PUT, PATCH, DELETE";
    let names = "authorization, content-type, idempotency-key, if-match, last-event-id, prefer";
    headers.insert(
        ACCESS_CONTROL_ALLOW_METHODS,
        HeaderValue::from_static(methods),
    );
    headers.insert(
        ACCESS_CONTROL_ALLOW_HEADERS,
        HeaderValue::from_static(names),
    );
    headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
    response
}

/// Lets a page of this origin read a response.
pub(super) fn allowed(mut response: Response, origin: &str) -> Response {
    let headers: &mut HeaderMap = response.headers_mut();
    if let Ok(origin) = HeaderValue::from_str(origin) {
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    }
    let exposed = HeaderValue::from_static("etag, retry-after, x-rooftree-session");
    headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, exposed);
    headers.append(VARY, HeaderValue::from_static("origin"));
    response
}

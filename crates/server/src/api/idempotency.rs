//! Idempotency keys of requests that change something: the same request with the same key gets the first answer again.
//!
//! Invariant: a request with a key is carried out once within a day, also if its client goes away meanwhile. An answer
//! that holds a secret is not stored; a repeated request is told that it was carried out.

use std::sync::Arc;

use axum::{
    body::{Body, to_bytes},
    extract::Request,
    http::{
        HeaderMap, HeaderName, HeaderValue, Method, StatusCode,
        header::{CONTENT_TYPE, IF_MATCH},
    },
    middleware::Next,
    response::{IntoResponse, Response},
};
use rooftree_protocol::{AuthorizedCaller, ErrorCode, Problem};
use rooftree_runtime::RequestKey;
use rooftree_store::{IdempotencyOutcome, IdempotentRequest, StoredAnswer};

use super::{ApiProblem, ApiState, extract::read_body};

/// The header with the key.
pub(super) const KEY: &str = "idempotency-key";
/// Says that an answer is the stored one.
const REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");
/// The most bytes of an answer that are stored.
const MAX_ANSWER: usize = 256 << 10;

/// How a route treats keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyUse {
    /// Its answer is stored.
    Stored,
    /// It is carried out once, but its answer holds a secret and is not stored.
    Secret,
    /// It ignores them, because repeating it changes nothing, or has its own use for them.
    None,
}

impl KeyUse {
    /// What a method does if its route says nothing.
    pub(super) fn of_method(method: &Method) -> Self {
        if matches!(*method, Method::GET | Method::HEAD) {
            Self::None
        } else {
            Self::Stored
        }
    }
}

/// Carries a request out, or answers it as before.
pub(super) async fn keep(
    state: Arc<ApiState>,
    (keys, max_body): (KeyUse, usize),
    request: Request,
    next: Next,
) -> Response {
    let caller = request.extensions().get::<AuthorizedCaller>().cloned();
    let has_key = request.headers().contains_key(KEY);
    match caller {
        Some(caller) if has_key && keys != KeyUse::None => {
            let kept = carry_out(state, caller, (keys, max_body), request, next).await;
            kept.unwrap_or_else(IntoResponse::into_response)
        }
        _ => next.run(request).await,
    }
}

async fn carry_out(
    state: Arc<ApiState>,
    caller: AuthorizedCaller,
    (keys, max_body): (KeyUse, usize),
    request: Request,
    next: Next,
) -> Result<Response, ApiProblem> {
    let (parts, body) = request.into_parts();
    let body = read_body(&parts.headers, body, max_body).await?;
    let key = key_of(&parts.headers)?;
    // A condition is part of what is asked for.
    let condition = parts.headers.get(IF_MATCH).map(HeaderValue::as_bytes);
    let condition = String::from_utf8_lossy(condition.unwrap_or_default());
    let path = format!("{} {condition}", parts.uri);
    let key = RequestKey {
        key: &key,
        method: parts.method.as_str(),
        path: &path,
        body: &body,
    };
    let handle = state.options.handle.clone();
    let (taken, outcome) = handle.begin_request(&caller.principal, key).await?;
    match outcome {
        IdempotencyOutcome::Answered(answer) => return Ok(replayed(answer)),
        IdempotencyOutcome::Running => return Err(ApiProblem::in_flight()),
        IdempotencyOutcome::Other => {
            let problem = ApiProblem::conflict("this Idempotency-Key was used for another request");
            return Err(problem);
        }
        IdempotencyOutcome::New => {}
    }
    let request = Request::from_parts(parts, Body::from(body));
    // A client that goes away does not stop it half-way.
    let done = tokio::spawn(async move {
        let response = next.run(request).await;
        store(&state, taken, keys, response).await
    });
    match done.await {
        Ok(response) => response,
        Err(_) => {
            let problem = Problem::new(ErrorCode::Internal, "the request could not be carried out");
            Err(ApiProblem::new(StatusCode::INTERNAL_SERVER_ERROR, problem))
        }
    }
}

fn key_of(headers: &HeaderMap) -> Result<String, ApiProblem> {
    let mut keys = headers.get_all(KEY).iter();
    match (keys.next().and_then(|key| key.to_str().ok()), keys.next()) {
        (Some(key), None) => Ok(key.trim().to_owned()),
        _ => Err(ApiProblem::invalid(
            "a request has one Idempotency-Key, of visible characters",
        )),
    }
}

/// Keeps the answer, unless the request is worth trying again.
async fn store(
    state: &ApiState,
    taken: IdempotentRequest,
    keys: KeyUse,
    response: Response,
) -> Result<Response, ApiProblem> {
    let handle = &state.options.handle;
    if is_worth_trying_again(response.status()) {
        handle.end_request(taken, None).await?;
        return Ok(response);
    }
    let (parts, body) = response.into_parts();
    let Ok(bytes) = to_bytes(body, usize::MAX).await else {
        handle.end_request(taken, None).await?;
        return Err(ApiProblem::conflict("the answer broke off"));
    };
    let is_secret = keys == KeyUse::Secret && parts.status.is_success();
    let text = String::from_utf8(bytes.to_vec()).ok();
    let stored = match text.filter(|text| !is_secret && text.len() <= MAX_ANSWER) {
        Some(body) => StoredAnswer {
            status: parts.status.as_u16(),
            body,
        },
        None => {
            let told = ApiProblem::carried_out(is_secret);
            StoredAnswer {
                status: told.status(),
                body: serde_json::to_string(&told).unwrap_or_default(),
            }
        }
    };
    handle.end_request(taken, Some(stored)).await?;
    Ok(Response::from_parts(parts, Body::from(bytes)))
}

/// Whether the answer says nothing about the request itself.
fn is_worth_trying_again(status: StatusCode) -> bool {
    status.is_server_error()
        || matches!(
            status,
            StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_EARLY | StatusCode::TOO_MANY_REQUESTS
        )
}

fn replayed(answer: StoredAnswer) -> Response {
    let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::OK);
    let kind = if status.is_client_error() {
        "application/problem+json"
    } else {
        "application/json"
    };
    let mut response = (status, answer.body.clone()).into_response();
    let headers = response.headers_mut();
    headers.insert(REPLAYED, HeaderValue::from_static("true"));
    if answer.body.is_empty() {
        headers.remove(CONTENT_TYPE);
    } else {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_that_say_nothing_about_the_request_are_not_kept() {
        for (status, is_again) in [
            (200, false),
            (404, false),
            (408, true),
            (429, true),
            (503, true),
        ] {
            let status = StatusCode::from_u16(status).unwrap();
            assert_eq!(is_worth_trying_again(status), is_again, "{status}");
        }
    }
}

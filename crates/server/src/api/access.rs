//! Authenticates requests of the API and makes the caller known to handlers.

use std::sync::Arc;

use axum::{
    extract::{FromRequestParts, Request, State},
    http::{HeaderMap, header::AUTHORIZATION, request::Parts},
    middleware::Next,
    response::{IntoResponse, Response},
};
use rooftree_protocol::{AuthorizedCaller, Principal};

use super::{ApiProblem, ApiState};

/// Invariant: no request that does not pass here reaches a handler of the API.
pub(super) async fn authenticate(
    State(state): State<Arc<ApiState>>,
    mut request: Request,
    next: Next,
) -> Response {
    if state.app.visitors.check(request.headers()).is_err() {
        return ApiProblem::foreign().into_response();
    }
    let caller = match bearer(request.headers()) {
        Some(token) => state.options.handle.authenticate(token).await,
        None => Ok(None),
    };
    match caller {
        Ok(Some(caller)) => {
            request.extensions_mut().insert(caller);
            if state.stopping.is_cancelled() {
                return ApiProblem::stopping().into_response();
            }
            next.run(request).await
        }
        Ok(None) => ApiProblem::unauthorized().into_response(),
        Err(error) => ApiProblem::from(error).into_response(),
    }
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme
        .eq_ignore_ascii_case("bearer")
        .then_some(token.trim())
}

/// The principal of a request and what its token may do.
pub(super) struct RequestCaller(pub(super) AuthorizedCaller);

impl<S: Send + Sync> FromRequestParts<S> for RequestCaller {
    type Rejection = ApiProblem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiProblem> {
        let caller = parts.extensions.get::<AuthorizedCaller>();
        caller
            .cloned()
            .map(Self)
            .ok_or_else(ApiProblem::unauthorized)
    }
}

/// The principal of a request.
pub(super) struct RequestPrincipal(pub(super) Principal);

impl<S: Send + Sync> FromRequestParts<S> for RequestPrincipal {
    type Rejection = ApiProblem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiProblem> {
        let caller = parts.extensions.get::<AuthorizedCaller>();
        let caller = caller.ok_or_else(ApiProblem::unauthorized)?;
        Ok(Self(caller.principal.clone()))
    }
}

//! Lets requests of the API in by what the check of access found, and makes the caller known to handlers.

use std::sync::Arc;

use axum::{
    extract::{FromRequestParts, Request, State},
    http::{Method, request::Parts},
    middleware::Next,
    response::{IntoResponse, Response},
};
use rooftree_protocol::{AuthorizedCaller, Principal, api_paths::LOGIN};

use super::{ApiProblem, ApiState};
use crate::{
    access::{AccessOutcome, CredentialKind, RequestAccess},
    host_check::RefusedHost,
};

/// Invariant: no request that does not pass here reaches a handler of the API. Only logging in needs no credential.
pub(super) async fn authenticate(
    State(state): State<Arc<ApiState>>,
    mut request: Request,
    next: Next,
) -> Response {
    let outcome = request.extensions().get::<RequestAccess>();
    let outcome = outcome.map_or(AccessOutcome::Anonymous, |access| access.outcome.clone());
    let is_login = request.uri().path() == LOGIN && request.method() == Method::POST;
    match admitted(outcome) {
        Ok(caller) => drop(request.extensions_mut().insert(caller)),
        // A browser whose cookie has ended logs in anew.
        Err(Refusal::NoCredential(_)) if is_login => {}
        Err(Refusal::NoCredential(problem) | Refusal::Other(problem)) => {
            return problem.into_response();
        }
    }
    if state.stopping.is_cancelled() {
        return ApiProblem::stopping().into_response();
    }
    next.run(request).await
}

/// Why a request is not let in.
enum Refusal {
    /// None, or one that is not good any more.
    NoCredential(ApiProblem),
    /// Whatever it presents.
    Other(ApiProblem),
}

fn admitted(outcome: AccessOutcome) -> Result<AuthorizedCaller, Refusal> {
    let other = |problem| Err(Refusal::Other(problem));
    match outcome {
        AccessOutcome::Allowed(_, CredentialKind::ChatToken) => other(ApiProblem::chat_token()),
        AccessOutcome::Allowed(caller, _) => Ok(*caller),
        AccessOutcome::Anonymous => Err(Refusal::NoCredential(ApiProblem::unauthorized())),
        AccessOutcome::Wrong => Err(Refusal::NoCredential(ApiProblem::wrong_credential())),
        AccessOutcome::Foreign(RefusedHost::UnknownName(_)) => other(ApiProblem::misdirected()),
        AccessOutcome::Foreign(RefusedHost::ForeignPage) => other(ApiProblem::foreign()),
        AccessOutcome::Forged => other(ApiProblem::forged()),
        AccessOutcome::Locked(seconds) => other(ApiProblem::locked(seconds)),
        AccessOutcome::Unavailable(problem) => other((*problem).into()),
    }
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

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiProblem> {
        let RequestCaller(caller) = RequestCaller::from_request_parts(parts, state).await?;
        Ok(Self(caller.principal))
    }
}

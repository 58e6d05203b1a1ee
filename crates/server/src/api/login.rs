//! Logging in and out, and who the caller is.

use std::sync::Arc;

use axum::{
    Extension, Json,
    extract::State,
    http::{HeaderMap, StatusCode, header::SET_COOKIE},
    response::{IntoResponse, Response},
};
use rooftree_protocol::{
    AccessScope, AccessScopes, Timestamp,
    api_paths::{LOGIN, LOGOUT, ME},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    ApiProblem, ApiState,
    access::{RequestCaller, RequestPrincipal},
    extract::JsonBody,
    idempotency::KeyUse,
    route_table::ApiRoute,
};
use crate::access::RequestAccess;

pub(super) fn routes() -> Vec<ApiRoute> {
    vec![
        ApiRoute::post(LOGIN, log_in)
            .public("Exchanges the secret of a one-time link for a login cookie")
            .body::<LoginRequest>()
            .keys(KeyUse::None)
            .answers::<LoginAnswer>(200),
        ApiRoute::post(LOGOUT, log_out)
            .needs(
                AccessScope::Read,
                "Ends the token of the caller and takes the cookie away",
            )
            .keys(KeyUse::None)
            .answers_nothing(204),
        ApiRoute::get(ME, me)
            .needs(
                AccessScope::Read,
                "Shows who the caller is and what he may do",
            )
            .answers::<CallerIdentity>(200),
    ]
}

/// The secret of a one-time link.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct LoginRequest {
    /// What follows `#k=` in the link.
    link: String,
    /// What people call this browser; "browser" if absent.
    #[serde(default)]
    device: Option<String>,
}

/// A browser that is logged in.
#[derive(Debug, Serialize, JsonSchema)]
struct LoginAnswer {
    /// The person.
    person: String,
    /// What the browser may do.
    scopes: AccessScopes,
    /// When it must log in anew.
    expires_at: Option<Timestamp>,
}

async fn log_in(
    State(state): State<Arc<ApiState>>,
    Extension(access): Extension<RequestAccess>,
    JsonBody(request): JsonBody<LoginRequest>,
) -> Result<Response, ApiProblem> {
    let check = &state.access;
    if let Some(seconds) = check.login_locked(access.client) {
        return Err(ApiProblem::locked(seconds));
    }
    let device = request.device.as_deref().unwrap_or("browser");
    let handle = &state.options.handle;
    let Some(issued) = handle.exchange_link(request.link.trim(), device).await? else {
        check.login_failed(access.client);
        return Err(ApiProblem::no_link());
    };
    check.login_succeeded(&issued.secret);
    let answer = LoginAnswer {
        person: issued.row.account.person,
        scopes: issued.row.scopes,
        expires_at: issued.row.expires_at,
    };
    let mut response = Json(answer).into_response();
    if let Some(cookie) = check.cookie.set(&issued.secret) {
        response.headers_mut().insert(SET_COOKIE, cookie);
    }
    Ok(response)
}

async fn log_out(
    State(state): State<Arc<ApiState>>,
    RequestPrincipal(who): RequestPrincipal,
) -> Result<Response, ApiProblem> {
    if let Some(token) = &who.token {
        state.options.handle.end_own_token(&who, token).await?;
    }
    let mut response = StatusCode::NO_CONTENT.into_response();
    if let Some(cookie) = state.access.cookie.clear() {
        response.headers_mut().insert(SET_COOKIE, cookie);
    }
    Ok(response)
}

/// The caller.
#[derive(Debug, Serialize, JsonSchema)]
struct CallerIdentity {
    /// The tenant.
    tenant: String,
    /// The person's id.
    person: String,
    /// What people call him.
    name: String,
    /// Whether he owns this installation.
    is_owner: bool,
    /// What the caller may do.
    scopes: AccessScopes,
    /// The token that was presented; none over the local socket.
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<CallerToken>,
    /// What a page sends as `X-Rooftree-CSRF` with requests that change something; none without a cookie.
    #[serde(skip_serializing_if = "Option::is_none")]
    csrf: Option<String>,
}

/// The token that was presented.
#[derive(Debug, Serialize, JsonSchema)]
struct CallerToken {
    /// Its id.
    id: String,
    /// What people call it.
    name: String,
    /// The agents it is bound to; none for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    agents: Option<Vec<String>>,
    /// When it ends by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<Timestamp>,
}

async fn me(
    State(state): State<Arc<ApiState>>,
    RequestCaller(caller): RequestCaller,
    headers: HeaderMap,
) -> Result<Json<CallerIdentity>, ApiProblem> {
    let who = caller.principal;
    let (person, token) = state.options.handle.identity(&who).await?;
    let token = token.map(|row| CallerToken {
        id: row.id,
        name: row.name,
        agents: row.agents,
        expires_at: row.expires_at,
    });
    Ok(Json(CallerIdentity {
        name: person.map_or_else(|| who.person.clone(), |person| person.name),
        is_owner: who.is_owner(),
        tenant: who.tenant,
        person: who.person,
        scopes: caller.scopes,
        token,
        csrf: state.access.csrf(&headers),
    }))
}

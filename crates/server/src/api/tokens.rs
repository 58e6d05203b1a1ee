//! Access tokens: lists, makes and revokes them.

use std::sync::Arc;

use axum::{
    Json,
    extract::{Path, State},
    http::StatusCode,
};
use rooftree_protocol::{
    AccessScope, AccessScopes, Timestamp,
    api_paths::{TOKEN, TOKENS},
};
use rooftree_runtime::NewAccessToken;
use rooftree_store::AccessTokenRow;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    ApiProblem, ApiState,
    access::{RequestCaller, RequestPrincipal},
    extract::JsonBody,
    idempotency::KeyUse,
    route_table::ApiRoute,
};

pub(super) fn routes() -> Vec<ApiRoute> {
    vec![
        ApiRoute::get(TOKENS, list)
            .needs(
                AccessScope::Admin,
                "Lists access tokens, revoked ones included",
            )
            .answers::<TokenList>(200),
        ApiRoute::post(TOKENS, create)
            .needs(
                AccessScope::Admin,
                "Makes an access token; it can be read only now",
            )
            .body::<TokenRequest>()
            .keys(KeyUse::Secret)
            .answers::<MadeToken>(201),
        ApiRoute::delete(TOKEN, revoke)
            .needs(
                AccessScope::Admin,
                "Revokes an access token; it counts at once",
            )
            .answers::<ListedToken>(200),
    ]
}

/// A token without its secret.
#[derive(Debug, Serialize, JsonSchema)]
struct ListedToken {
    /// `tok_…`.
    id: String,
    /// What people call it.
    name: String,
    /// The person it stands for.
    person: String,
    /// What it may do.
    scopes: AccessScopes,
    /// The agents it is bound to; none for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    agents: Option<Vec<String>>,
    /// When it was made.
    created_at: Timestamp,
    /// When it ends by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<Timestamp>,
    /// When it was revoked.
    #[serde(skip_serializing_if = "Option::is_none")]
    revoked_at: Option<Timestamp>,
    /// When it was last presented, to within a few minutes.
    #[serde(skip_serializing_if = "Option::is_none")]
    used_at: Option<Timestamp>,
}

impl From<AccessTokenRow> for ListedToken {
    fn from(row: AccessTokenRow) -> Self {
        Self {
            id: row.id,
            name: row.name,
            person: row.account.person,
            scopes: row.scopes,
            agents: row.agents,
            created_at: row.created_at,
            expires_at: row.expires_at,
            revoked_at: row.revoked_at,
            used_at: row.used_at,
        }
    }
}

/// All tokens.
#[derive(Debug, Serialize, JsonSchema)]
struct TokenList {
    /// The oldest first.
    tokens: Vec<ListedToken>,
}

/// A token to be made.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct TokenRequest {
    /// What people call it.
    name: String,
    /// What it may do.
    scopes: AccessScopes,
    /// The person it stands for; the caller if absent.
    #[serde(default)]
    person: Option<String>,
    /// The agents it is bound to; all if absent.
    #[serde(default)]
    agents: Option<Vec<String>>,
    /// When it ends by itself; never if absent.
    #[serde(default)]
    expires_at: Option<Timestamp>,
}

/// A token that was made.
#[derive(Serialize, JsonSchema)]
struct MadeToken {
    /// The token, which is shown only now.
    secret: String,
    /// What is stored of it.
    token: ListedToken,
}

async fn list(
    State(state): State<Arc<ApiState>>,
    RequestPrincipal(who): RequestPrincipal,
) -> Result<Json<TokenList>, ApiProblem> {
    let rows = state.options.handle.tokens(&who).await?;
    let tokens = rows.into_iter().map(ListedToken::from).collect();
    Ok(Json(TokenList { tokens }))
}

async fn create(
    State(state): State<Arc<ApiState>>,
    RequestCaller(caller): RequestCaller,
    JsonBody(request): JsonBody<TokenRequest>,
) -> Result<(StatusCode, Json<MadeToken>), ApiProblem> {
    let new = NewAccessToken {
        name: request.name,
        person: request.person,
        scopes: request.scopes,
        agents: request.agents,
        expires_at: request.expires_at,
    };
    let issued = state.options.handle.create_token(&caller, new).await?;
    let made = MadeToken {
        secret: issued.secret,
        token: issued.row.into(),
    };
    Ok((StatusCode::CREATED, Json(made)))
}

async fn revoke(
    State(state): State<Arc<ApiState>>,
    RequestPrincipal(who): RequestPrincipal,
    Path(id): Path<String>,
) -> Result<Json<ListedToken>, ApiProblem> {
    let revoked = state.options.handle.revoke_token(&who, &id).await?;
    Ok(Json(revoked.into()))
}

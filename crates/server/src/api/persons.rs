//! Persons: lists, invites and disables them, and makes one-time links for their browsers.

use std::sync::Arc;

use axum::{
    Json,
    extract::{Path, State},
    http::StatusCode,
};
use rooftree_protocol::{
    AccessScope, Timestamp,
    api_paths::{PERSON, PERSON_LINKS, PERSONS},
};
use rooftree_runtime::{IssuedLink, NewAccessLink};
use rooftree_store::{PersonRole, PersonRow};
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
        ApiRoute::get(PERSONS, list)
            .needs(AccessScope::Admin, "Lists persons, disabled ones included")
            .answers::<PersonList>(200),
        ApiRoute::post(PERSONS, invite)
            .needs(
                AccessScope::Admin,
                "Invites a person; the link can be read only now",
            )
            .body::<InvitationRequest>()
            .keys(KeyUse::Secret)
            .answers::<Invitation>(201),
        ApiRoute::delete(PERSON, disable)
            .needs(
                AccessScope::Admin,
                "Disables a person; all his tokens and links end at once",
            )
            .answers::<ListedPerson>(200),
        ApiRoute::post(PERSON_LINKS, link)
            .needs(
                AccessScope::Admin,
                "Makes a one-time link for another browser of a person",
            )
            .keys(KeyUse::Secret)
            .answers::<LoginLink>(201),
    ]
}

/// A person.
#[derive(Debug, Serialize, JsonSchema)]
struct ListedPerson {
    /// His id.
    id: String,
    /// What people call him.
    name: String,
    /// Whether he owns this installation; others are members.
    is_owner: bool,
    /// Since when he is there.
    invited_at: Timestamp,
    /// When he was disabled.
    #[serde(skip_serializing_if = "Option::is_none")]
    disabled_at: Option<Timestamp>,
}

impl From<PersonRow> for ListedPerson {
    fn from(row: PersonRow) -> Self {
        Self {
            id: row.account.person,
            name: row.name,
            is_owner: row.role == PersonRole::Owner,
            invited_at: row.invited_at,
            disabled_at: row.disabled_at,
        }
    }
}

/// All persons.
#[derive(Debug, Serialize, JsonSchema)]
struct PersonList {
    /// By id.
    persons: Vec<ListedPerson>,
}

/// A person to be invited.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct InvitationRequest {
    /// What people call him.
    name: String,
}

/// A person who was invited.
#[derive(Serialize, JsonSchema)]
struct Invitation {
    /// The person.
    person: ListedPerson,
    /// The link for his first browser.
    link: LoginLink,
}

/// A one-time link.
#[derive(Serialize, JsonSchema)]
struct LoginLink {
    /// The secret, which is shown only now: it follows `#k=` in the address of the page.
    secret: String,
    /// When it ends by itself.
    expires_at: Timestamp,
}

impl From<IssuedLink> for LoginLink {
    fn from(link: IssuedLink) -> Self {
        Self {
            secret: link.secret,
            expires_at: link.row.expires_at,
        }
    }
}

async fn list(
    State(state): State<Arc<ApiState>>,
    RequestPrincipal(who): RequestPrincipal,
) -> Result<Json<PersonList>, ApiProblem> {
    let rows = state.options.handle.persons(&who).await?;
    let persons = rows.into_iter().map(ListedPerson::from).collect();
    Ok(Json(PersonList { persons }))
}

async fn invite(
    State(state): State<Arc<ApiState>>,
    RequestCaller(caller): RequestCaller,
    JsonBody(request): JsonBody<InvitationRequest>,
) -> Result<(StatusCode, Json<Invitation>), ApiProblem> {
    let handle = &state.options.handle;
    let invited = handle.invite_person(&caller, &request.name).await?;
    let invitation = Invitation {
        person: invited.person.into(),
        link: invited.link.into(),
    };
    Ok((StatusCode::CREATED, Json(invitation)))
}

async fn disable(
    State(state): State<Arc<ApiState>>,
    RequestCaller(caller): RequestCaller,
    Path(id): Path<String>,
) -> Result<Json<ListedPerson>, ApiProblem> {
    let disabled = state.options.handle.disable_person(&caller, &id).await?;
    Ok(Json(disabled.into()))
}

async fn link(
    State(state): State<Arc<ApiState>>,
    RequestCaller(caller): RequestCaller,
    Path(id): Path<String>,
) -> Result<(StatusCode, Json<LoginLink>), ApiProblem> {
    let new = NewAccessLink { person: Some(id) };
    let made = state.options.handle.create_link(&caller, new).await?;
    Ok((StatusCode::CREATED, Json(made.into())))
}

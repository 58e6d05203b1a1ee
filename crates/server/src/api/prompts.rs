//! Command files and skills: lists what a person can type behind a slash, and sends the text of one to a session.
//!
//! Invariant: the server fills in the text and sends it with the tools that its file allows, in one step. A client
//! cannot lose the restriction on the way.

use std::sync::Arc;

use axum::{
    Json,
    extract::{Path, State},
    http::StatusCode,
};
use rooftree_protocol::{
    AccessScope, Command, Origin,
    api_paths::{PROMPTS, SESSION_PROMPTS},
    command::{Address, Delivery},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    ApiProblem, ApiState,
    access::RequestPrincipal,
    extract::JsonBody,
    messages::{self, AcceptedPost, AttachedBlob},
    route_table::ApiRoute,
    sessions::find_live,
};
use crate::catalog::CatalogPrompt;

pub(super) fn routes() -> Vec<ApiRoute> {
    vec![
        ApiRoute::get(PROMPTS, list)
            .needs(
                AccessScope::Read,
                "Lists command files and skills that can be typed behind a slash",
            )
            .answers::<CatalogPromptList>(200),
        ApiRoute::post(SESSION_PROMPTS, send)
            .needs(
                AccessScope::Chat,
                "Sends the text of a command file or skill; its run uses only the tools that the file allows",
            )
            .body::<NewPrompt>()
            .answers::<AcceptedPrompt>(202),
    ]
}

/// Command files and skills.
#[derive(Debug, Serialize, JsonSchema)]
struct CatalogPromptList {
    /// They, by name.
    prompts: Vec<CatalogPrompt>,
}

/// A command file or skill to send.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NewPrompt {
    /// Its name, without the slash.
    name: String,
    /// What was typed behind the name.
    #[serde(default)]
    arguments: String,
    /// Bytes that were uploaded before.
    #[serde(default)]
    attachments: Vec<AttachedBlob>,
}

/// A command file or skill that was sent.
#[derive(Debug, Serialize, JsonSchema)]
struct AcceptedPrompt {
    #[serde(flatten)]
    accepted: AcceptedPost,
    /// Settings of the file that an open session does not heed, such as `model: fast`.
    ignored: Vec<String>,
}

async fn list(State(state): State<Arc<ApiState>>) -> Json<CatalogPromptList> {
    let prompts = state.options.catalog.prompts();
    Json(CatalogPromptList { prompts })
}

async fn send(
    State(state): State<Arc<ApiState>>,
    RequestPrincipal(who): RequestPrincipal,
    Path(id): Path<String>,
    JsonBody(new): JsonBody<NewPrompt>,
) -> Result<(StatusCode, Json<AcceptedPrompt>), ApiProblem> {
    let session = find_live(&state, &who, &id).await?;
    let expanded = state
        .options
        .catalog
        .expand_prompt(&new.name, &new.arguments);
    let expanded = expanded
        .map_err(|problem| ApiProblem::new(StatusCode::BAD_REQUEST, problem).at("/name"))?;
    let parts = messages::parts(&state, &who, &session.id, expanded.text, new.attachments).await?;
    let to = Address::Id { id: session.id };
    let command = match expanded.restriction {
        Some(restriction) => Command::Prompt {
            to,
            parts,
            restriction,
        },
        None => Command::Post {
            to,
            parts,
            origin: Origin::User,
            key: None,
            delivery: Delivery::Queue,
            context: None,
        },
    };
    let reply = state.options.handle.send(&who, command).await?;
    let Some(accepted) = AcceptedPost::of(reply) else {
        return Err(ApiProblem::conflict("the message was not accepted"));
    };
    let ignored = expanded.ignored;
    let accepted = AcceptedPrompt { accepted, ignored };
    Ok((StatusCode::ACCEPTED, Json(accepted)))
}

//! Messages that wait in a session's inbox: lists, withdraws and replaces them until the agent takes them.

use std::sync::Arc;

use axum::{
    Json,
    extract::{Path, State},
    http::StatusCode,
};
use rooftree_protocol::{
    AccessScope, Command, ErrorCode, Lane, Limits, MessageId, Origin, Part, Timestamp,
    api_paths::{SESSION_QUEUE, SESSION_QUEUED},
};
use rooftree_store::InboxItem;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    ApiProblem, ApiState,
    access::RequestPrincipal,
    extract::JsonBody,
    messages::{self, AcceptedPost, AttachedBlob},
    route_table::ApiRoute,
    sessions::{find, find_live},
};

pub(super) fn routes() -> Vec<ApiRoute> {
    vec![
        ApiRoute::get(SESSION_QUEUE, list)
            .needs(
                AccessScope::Read,
                "Lists the messages that wait, in the order they are taken",
            )
            .answers::<MessageQueue>(200),
        ApiRoute::put(SESSION_QUEUED, replace)
            .needs(
                AccessScope::Chat,
                "Replaces what a waiting message says; its place stays",
            )
            .body::<MessageReplacement>()
            .answers::<AcceptedPost>(200)
            .fails(&[409]),
        ApiRoute::delete(SESSION_QUEUED, withdraw)
            .needs(
                AccessScope::Chat,
                "Withdraws a waiting message; its agent takes its place as `inbox.dropped`",
            )
            .answers_nothing(204)
            .fails(&[409]),
    ]
}

/// Messages that wait.
#[derive(Debug, Serialize, JsonSchema)]
struct MessageQueue {
    /// Each starts a run of its own.
    queued: Vec<QueuedMessage>,
    /// They enter the running conversation, or the next one.
    steering: Vec<QueuedMessage>,
}

/// A message that waits.
#[derive(Debug, Serialize, JsonSchema)]
struct QueuedMessage {
    /// Its id.
    message: MessageId,
    /// Its place in the lane.
    position: u64,
    /// Who sent it.
    origin: Origin,
    /// What it says.
    parts: Vec<Part>,
    /// Whether it starts no run.
    silent: bool,
    /// How often it was replaced.
    revision: u32,
    /// Whether it was withdrawn: it is not read.
    withdrawn: bool,
    /// When it was sent.
    at: Timestamp,
}

/// What a message says from now on.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct MessageReplacement {
    /// What it says.
    #[serde(default)]
    text: String,
    /// Bytes that were uploaded before.
    #[serde(default)]
    attachments: Vec<AttachedBlob>,
}

impl From<InboxItem> for QueuedMessage {
    fn from(item: InboxItem) -> Self {
        Self {
            position: item.position,
            withdrawn: item.withdrawn.is_some(),
            message: item.message.id,
            origin: item.message.origin,
            parts: item.message.parts,
            silent: item.message.silent,
            revision: item.message.revision,
            at: item.message.at,
        }
    }
}

async fn list(
    State(state): State<Arc<ApiState>>,
    RequestPrincipal(who): RequestPrincipal,
    Path(id): Path<String>,
) -> Result<Json<MessageQueue>, ApiProblem> {
    let session = find(&state, &who, &id).await?.id;
    let queries = state.options.handle.queries(&who);
    let most = usize::try_from(Limits::default().inbox).unwrap_or(usize::MAX);
    let waiting = async |lane| -> Result<Vec<QueuedMessage>, ApiProblem> {
        let items = queries.waiting(&session, lane, most).await?;
        Ok(items.into_iter().map(QueuedMessage::from).collect())
    };
    Ok(Json(MessageQueue {
        queued: waiting(Lane::Mail).await?,
        steering: waiting(Lane::Boundary).await?,
    }))
}

async fn replace(
    State(state): State<Arc<ApiState>>,
    RequestPrincipal(who): RequestPrincipal,
    Path((id, message)): Path<(String, String)>,
    JsonBody(new): JsonBody<MessageReplacement>,
) -> Result<Json<AcceptedPost>, ApiProblem> {
    let session = find_live(&state, &who, &id).await?.id;
    let message = message_id(&message)?;
    let parts = messages::parts(&state, &who, &session, new.text, new.attachments).await?;
    let command = Command::Replace {
        session,
        message,
        parts,
    };
    let reply = state.options.handle.send(&who, command).await?;
    let accepted = AcceptedPost::of(reply);
    accepted
        .map(Json)
        .ok_or_else(|| ApiProblem::conflict("the message was not replaced"))
}

async fn withdraw(
    State(state): State<Arc<ApiState>>,
    RequestPrincipal(who): RequestPrincipal,
    Path((id, message)): Path<(String, String)>,
) -> Result<StatusCode, ApiProblem> {
    let session = find_live(&state, &who, &id).await?.id;
    let message = message_id(&message)?;
    let command = Command::Withdraw { session, message };
    state.options.handle.send(&who, command).await?;
    Ok(StatusCode::NO_CONTENT)
}

fn message_id(id: &str) -> Result<MessageId, ApiProblem> {
    let missing =
        |_| ApiProblem::not_found(ErrorCode::TaskNotFound, format!("no message {id} waits"));
    MessageId::parse(id).map_err(missing)
}

//! The outbox: lists messages to chats and how far their delivery is, retries and drops them.

use std::sync::Arc;

use axum::{
    Json,
    extract::{Path, State},
};
use rooftree_protocol::{
    AccessScope, Timestamp,
    api_paths::{OUTBOX, OUTBOX_DROP, OUTBOX_RETRY},
};
use rooftree_runtime::OutboxQuery;
use rooftree_store::{OutboxBody, OutboxRow, OutboxState, OutboxWish};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    ApiProblem, ApiState, access::RequestPrincipal, extract::QueryParameters, page,
    route_table::ApiRoute,
};

pub(super) fn routes() -> Vec<ApiRoute> {
    vec![
        ApiRoute::get(OUTBOX, list)
            .needs(
                AccessScope::Read,
                "Lists messages to chats, the newest first; an invited person sees only own ones",
            )
            .query::<OutboxListQuery>()
            .answers::<OutboxPage>(200),
        ApiRoute::post(OUTBOX_RETRY, retry)
            .needs(
                AccessScope::Chat,
                "Delivers a message again that failed or may not have arrived",
            )
            .answers::<OutboxItem>(200)
            .fails(&[409]),
        ApiRoute::post(OUTBOX_DROP, drop_message)
            .needs(AccessScope::Chat, "Gives up a message that is not sent")
            .answers::<OutboxItem>(200)
            .fails(&[409]),
    ]
}

/// Which messages to list.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct OutboxListQuery {
    /// Only those in this state.
    state: Option<DeliveryState>,
    /// Only those to this connector.
    connector: Option<String>,
    /// Where the page begins: `next` of the page before.
    cursor: Option<String>,
    /// At most this many, up to 200.
    limit: Option<usize>,
}

/// One page of messages.
#[derive(Debug, Serialize, JsonSchema)]
struct OutboxPage {
    /// The messages.
    messages: Vec<OutboxItem>,
    /// The cursor of the next page; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

/// How far the delivery of a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum DeliveryState {
    /// It waits for its turn.
    Planned,
    /// It is being sent.
    Sending,
    /// The platform took it.
    Sent,
    /// An attempt failed; another one follows.
    Failed,
    /// It may or may not have arrived.
    Unknown,
    /// It was given up.
    Dead,
    /// A later message took its place, or a person dropped it.
    Superseded,
}

/// A message to a chat.
#[derive(Debug, Serialize, JsonSchema)]
struct OutboxItem {
    /// Its id.
    id: String,
    /// How far its delivery is.
    state: DeliveryState,
    /// `final`, `progress`, `permission`, `notice` or `file`.
    kind: &'static str,
    /// Where it goes: `telegram:123/45`.
    target: String,
    /// What it says; of a file, its name.
    text: String,
    /// The session it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    /// The run it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<String>,
    /// How many attempts failed.
    attempts: u32,
    /// When the next attempt may begin; only after a failed one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_attempt: Option<Timestamp>,
    /// The class of the last failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    class: Option<String>,
    /// The last failure in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    /// Into how many messages of the platform it is split; 0 before it is planned.
    parts: usize,
    /// How many of them the platform took.
    parts_sent: usize,
    /// When it was made.
    created: Timestamp,
    /// When it was sent, given up or superseded.
    #[serde(skip_serializing_if = "Option::is_none")]
    closed: Option<Timestamp>,
}

impl From<DeliveryState> for OutboxState {
    fn from(state: DeliveryState) -> Self {
        match state {
            DeliveryState::Planned => Self::Planned,
            DeliveryState::Sending => Self::Sending,
            DeliveryState::Sent => Self::Sent,
            DeliveryState::Failed => Self::Failed,
            DeliveryState::Unknown => Self::Unknown,
            DeliveryState::Dead => Self::Dead,
            DeliveryState::Superseded => Self::Superseded,
        }
    }
}

impl From<OutboxState> for DeliveryState {
    fn from(state: OutboxState) -> Self {
        match state {
            OutboxState::Planned => Self::Planned,
            OutboxState::Sending => Self::Sending,
            OutboxState::Sent => Self::Sent,
            OutboxState::Failed => Self::Failed,
            OutboxState::Unknown => Self::Unknown,
            OutboxState::Dead => Self::Dead,
            OutboxState::Superseded => Self::Superseded,
        }
    }
}

impl From<OutboxRow> for OutboxItem {
    fn from(row: OutboxRow) -> Self {
        let is_sent = |part: &&rooftree_store::OutboxPart| part.state == OutboxState::Sent;
        let text = match row.post.body {
            OutboxBody::Text { text }
            | OutboxBody::Inquiry { text, .. }
            | OutboxBody::Outcome { text, .. } => text,
            OutboxBody::File { name, .. } => name,
        };
        Self {
            id: row.post.id,
            state: row.state.into(),
            kind: row.post.kind.name(),
            target: row.post.target.to_string(),
            text,
            session: row.post.session.map(|session| session.to_string()),
            run: row.post.run.map(|run| run.to_string()),
            attempts: row.attempts,
            next_attempt: (row.state == OutboxState::Failed).then_some(row.not_before),
            class: row.class,
            error: row.error,
            parts: row.parts.len(),
            parts_sent: row.parts.iter().filter(is_sent).count(),
            created: row.post.at,
            closed: row.closed_at,
        }
    }
}

async fn list(
    State(state): State<Arc<ApiState>>,
    RequestPrincipal(who): RequestPrincipal,
    QueryParameters(query): QueryParameters<OutboxListQuery>,
) -> Result<Json<OutboxPage>, ApiProblem> {
    let limit = page::limit(query.limit);
    let wanted = OutboxQuery {
        connector: query.connector,
        states: query.state.map(|state| vec![state.into()]),
        before: page::decode(query.cursor.as_deref())?,
        limit,
    };
    let found = state.options.handle.outbox(&who, wanted).await?;
    Ok(Json(OutboxPage {
        next: found.next.map(|next| page::encode(&next)),
        messages: found.rows.into_iter().map(OutboxItem::from).collect(),
    }))
}

async fn retry(
    State(state): State<Arc<ApiState>>,
    RequestPrincipal(who): RequestPrincipal,
    Path(id): Path<String>,
) -> Result<Json<OutboxItem>, ApiProblem> {
    let handle = &state.options.handle;
    let row = handle.change_outbox(&who, &id, OutboxWish::Retry).await?;
    Ok(Json(row.into()))
}

async fn drop_message(
    State(state): State<Arc<ApiState>>,
    RequestPrincipal(who): RequestPrincipal,
    Path(id): Path<String>,
) -> Result<Json<OutboxItem>, ApiProblem> {
    let handle = &state.options.handle;
    let row = handle.change_outbox(&who, &id, OutboxWish::Drop).await?;
    Ok(Json(row.into()))
}

//! The outbox: lists messages to chats and how far their delivery is, retries and drops them.

use std::sync::Arc;

use axum::{
    Json,
    extract::{Path, State},
};
use rooftree_protocol::{
    AccessScope, OutboxInfo, OutboxState,
    api_paths::{OUTBOX, OUTBOX_DROP, OUTBOX_RETRY},
};
use rooftree_runtime::OutboxQuery;
use rooftree_store::{OutboxRow, OutboxWish};
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
            .answers::<OutboxInfo>(200)
            .fails(&[409]),
        ApiRoute::post(OUTBOX_DROP, drop_message)
            .needs(AccessScope::Chat, "Gives up a message that is not sent")
            .answers::<OutboxInfo>(200)
            .fails(&[409]),
    ]
}

/// Which messages to list.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct OutboxListQuery {
    /// Only those in this state.
    state: Option<OutboxState>,
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
    messages: Vec<OutboxInfo>,
    /// The cursor of the next page; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

async fn list(
    State(state): State<Arc<ApiState>>,
    RequestPrincipal(who): RequestPrincipal,
    QueryParameters(query): QueryParameters<OutboxListQuery>,
) -> Result<Json<OutboxPage>, ApiProblem> {
    let limit = page::limit(query.limit);
    let wanted = OutboxQuery {
        connector: query.connector,
        states: query.state.map(|state| vec![state]),
        before: page::decode(query.cursor.as_deref())?,
        limit,
    };
    let found = state.options.handle.outbox(&who, wanted).await?;
    Ok(Json(OutboxPage {
        next: found.next.map(|next| page::encode(&next)),
        messages: found.rows.into_iter().map(OutboxRow::info).collect(),
    }))
}

async fn retry(
    State(state): State<Arc<ApiState>>,
    RequestPrincipal(who): RequestPrincipal,
    Path(id): Path<String>,
) -> Result<Json<OutboxInfo>, ApiProblem> {
    let handle = &state.options.handle;
    let row = handle.change_outbox(&who, &id, OutboxWish::Retry).await?;
    Ok(Json(row.info()))
}

async fn drop_message(
    State(state): State<Arc<ApiState>>,
    RequestPrincipal(who): RequestPrincipal,
    Path(id): Path<String>,
) -> Result<Json<OutboxInfo>, ApiProblem> {
    let handle = &state.options.handle;
    let row = handle.change_outbox(&who, &id, OutboxWish::Drop).await?;
    Ok(Json(row.info()))
}

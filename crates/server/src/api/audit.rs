//! The audit log: who changed what.

use std::sync::Arc;

use axum::{Json, extract::State};
use rooftree_protocol::{AccessScope, Principal, Timestamp, api_paths::AUDIT};
use rooftree_store::{AuditPhase, AuditRow};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    ApiProblem, ApiState, access::RequestPrincipal, extract::QueryParameters, route_table::ApiRoute,
};

/// Entries on a page if no number is given.
const PAGE: usize = 100;
/// The most on a page.
const MAX_PAGE: usize = 1000;

pub(super) fn routes() -> Vec<ApiRoute> {
    vec![
        ApiRoute::get(AUDIT, list)
            .needs(
                AccessScope::Admin,
                "Lists who changed what, the oldest first",
            )
            .query::<AuditQuery>()
            .answers::<AuditPage>(200),
    ]
}

/// Which entries to list.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct AuditQuery {
    /// Only entries with a higher number.
    after: i64,
    /// At most this many.
    limit: Option<usize>,
}

/// One page of entries.
#[derive(Debug, Serialize, JsonSchema)]
struct AuditPage {
    /// The entries.
    entries: Vec<AuditItem>,
    /// What to give as `after` for the next page; none after the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<i64>,
}

/// One entry.
#[derive(Debug, Serialize, JsonSchema)]
struct AuditItem {
    /// Later entries have higher ones.
    number: i64,
    /// When.
    at: Timestamp,
    /// Who.
    who: Principal,
    /// What was done.
    action: String,
    /// To what.
    subject: String,
    /// What else there is to know.
    #[serde(skip_serializing_if = "Map::is_empty")]
    detail: Map<String, Value>,
    /// `done`, or for changes of files `intent`, `completed` and `failed`.
    phase: &'static str,
    /// The number of the intent that this entry ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    intent: Option<i64>,
}

impl From<AuditRow> for AuditItem {
    fn from(row: AuditRow) -> Self {
        let AuditRow { number, entry } = row;
        let (phase, intent) = match entry.phase {
            AuditPhase::Done => ("done", None),
            AuditPhase::Intent => ("intent", None),
            AuditPhase::Completed(intent) => ("completed", Some(intent)),
            AuditPhase::Failed(intent) => ("failed", Some(intent)),
        };
        Self {
            number,
            at: entry.at,
            who: entry.who,
            action: entry.action,
            subject: entry.subject,
            detail: entry.detail,
            phase,
            intent,
        }
    }
}

async fn list(
    State(state): State<Arc<ApiState>>,
    RequestPrincipal(who): RequestPrincipal,
    QueryParameters(query): QueryParameters<AuditQuery>,
) -> Result<Json<AuditPage>, ApiProblem> {
    let limit = query.limit.unwrap_or(PAGE).clamp(1, MAX_PAGE);
    let queries = state.options.handle.queries(&who);
    let rows = queries.audit(query.after, limit).await?;
    let next = rows.last().filter(|_| rows.len() == limit);
    let next = next.map(|row| row.number);
    let entries = rows.into_iter().map(AuditItem::from).collect();
    Ok(Json(AuditPage { entries, next }))
}

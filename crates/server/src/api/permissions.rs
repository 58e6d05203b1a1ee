//! Permission requests: lists pending ones first in first out and answered ones of the last 30 days, takes answers.
//!
//! Invariant: an answer counts only for what was shown, which its digest tells, and only if it is the first one.

use std::{sync::Arc, time::Duration};

use axum::{
    Json,
    extract::{Path, State},
    http::StatusCode,
    response::{IntoResponse, Response},
};
use rooftree_protocol::{
    AccessScope, Answer, Command, ErrorCode, PermissionDecision, PermissionId, PermissionScope,
    Principal, Timestamp,
    api_paths::{PERMISSION, PERMISSIONS},
};
use rooftree_store::Inquiry;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    ApiProblem, ApiState,
    access::RequestPrincipal,
    extract::{JsonBody, QueryParameters},
    inquiry_types::{AnsweredInquiry, InquiryState, PermissionItem, state as state_of},
    page,
    route_table::ApiRoute,
};

/// How far back answered requests are listed.
const HISTORY: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// The most answers in one request.
const MAX_ANSWERS: usize = 50;

pub(super) fn routes() -> Vec<ApiRoute> {
    vec![
        ApiRoute::get(PERMISSIONS, list)
            .needs(AccessScope::Read, "Lists permission requests: pending ones in the order they were asked, answered ones of the last 30 days latest first")
            .query::<InquiryListQuery>()
            .answers::<PermissionListPage>(200),
        ApiRoute::post(PERMISSIONS, answer_many)
            .needs(AccessScope::Approve, "Answers up to 50 permission requests, each judged on its own")
            .body::<PermissionAnswers>()
            .answers::<PermissionAnswerResults>(200),
        ApiRoute::get(PERMISSION, show)
            .needs(AccessScope::Read, "Shows one permission request")
            .answers::<PermissionItem>(200),
        ApiRoute::post(PERMISSION, answer)
            .needs(AccessScope::Approve, "Answers a permission request; the first answer counts")
            .body::<PermissionAnswer>()
            .answers::<PermissionItem>(200)
            .fails(&[409, 410]),
    ]
}

/// Which requests to list.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct InquiryListQuery {
    /// Pending ones, or answered and settled ones.
    pub(super) state: InquiryListState,
    /// Where the page begins: `next` of the page before.
    pub(super) cursor: Option<String>,
    /// At most this many, up to 200.
    pub(super) limit: Option<usize>,
}

/// Which requests are meant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum InquiryListState {
    /// Those that wait for an answer.
    #[default]
    Pending,
    /// Those that were answered, expired or were withdrawn.
    Answered,
}

/// One page of permission requests.
#[derive(Debug, Serialize, JsonSchema)]
struct PermissionListPage {
    /// The requests.
    permissions: Vec<PermissionItem>,
    /// The cursor of the next page; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

/// An answer to a permission request.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct PermissionAnswer {
    /// Yes or no.
    decision: PermissionDecision,
    /// For how long a yes holds.
    #[serde(default)]
    scope: PermissionScope,
    /// The digest of the request that was shown to the person who answers.
    digest: String,
    /// Words to the model, with a no.
    #[serde(default)]
    because: Option<String>,
}

/// An answer among several.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
struct NamedPermissionAnswer {
    /// Which request.
    id: String,
    #[serde(flatten)]
    answer: PermissionAnswer,
}

/// Several answers.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct PermissionAnswers {
    /// The answers.
    #[schemars(length(min = 1, max = 50))]
    answers: Vec<NamedPermissionAnswer>,
}

/// What came of several answers, in their order.
#[derive(Debug, Serialize, JsonSchema)]
struct PermissionAnswerResults {
    /// One for each.
    results: Vec<PermissionAnswerResult>,
}

/// What came of one answer.
#[derive(Debug, Serialize, JsonSchema)]
struct PermissionAnswerResult {
    /// Which request.
    id: String,
    /// The status it would have had alone.
    status: u16,
    /// The request as it is now.
    #[serde(skip_serializing_if = "Option::is_none")]
    permission: Option<PermissionItem>,
    /// Why the answer does not count.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<ApiProblem>,
}

async fn list(
    State(state): State<Arc<ApiState>>,
    RequestPrincipal(who): RequestPrincipal,
    QueryParameters(query): QueryParameters<InquiryListQuery>,
) -> Result<Json<PermissionListPage>, ApiProblem> {
    let now = state.options.clock.now();
    let (found, next) = listed(&state, &who, &query, "per_").await?;
    let permissions = found
        .iter()
        .filter_map(|inquiry| PermissionItem::of(inquiry, now))
        .collect();
    Ok(Json(PermissionListPage { permissions, next }))
}

/// One page of permission requests or questions, by the beginning of their ids.
pub(super) async fn listed(
    state: &ApiState,
    who: &Principal,
    query: &InquiryListQuery,
    kind: &str,
) -> Result<(Vec<Inquiry>, Option<String>), ApiProblem> {
    let (now, limit) = (state.options.clock.now(), page::limit(query.limit));
    let mut after: Option<(Timestamp, String)> = page::decode(query.cursor.as_deref())?;
    let queries = state.options.handle.queries(who);
    let is_meant = |inquiry: &Inquiry| inquiry.id.starts_with(kind);
    let mut found = Vec::new();
    let mut is_last = true;
    match query.state {
        InquiryListState::Pending => {
            let mut open = queries.inquiries(None).await?;
            open.sort_by(|one, other| (one.asked_at, &one.id).cmp(&(other.asked_at, &other.id)));
            let later = |inquiry: &Inquiry| {
                after.as_ref().is_none_or(|(at, id)| {
                    (inquiry.asked_at, inquiry.id.as_str()) > (*at, id.as_str())
                })
            };
            let pending = |inquiry: &Inquiry| state_of(inquiry, now) == InquiryState::Pending;
            open.retain(|inquiry| is_meant(inquiry) && pending(inquiry) && later(inquiry));
            is_last = open.len() <= limit;
            open.truncate(limit);
            found = open;
        }
        InquiryListState::Answered => {
            let since = Timestamp(now.0 - i64::try_from(HISTORY.as_millis()).unwrap_or(i64::MAX));
            while found.len() < limit {
                let read = queries.inquiry_history(since, after.take(), limit).await?;
                is_last = read.len() < limit;
                after = read.last().map(|last| (last.asked_at, last.id.clone()));
                found.extend(read.into_iter().filter(is_meant));
                if is_last {
                    break;
                }
            }
            is_last &= found.len() <= limit;
            found.truncate(limit);
        }
    }
    let last = found.last().filter(|_| !is_last);
    let next = last.map(|last| page::encode(&(last.asked_at, &last.id)));
    Ok((found, next))
}

async fn show(
    State(state): State<Arc<ApiState>>,
    RequestPrincipal(who): RequestPrincipal,
    Path(id): Path<String>,
) -> Result<Json<PermissionItem>, ApiProblem> {
    let inquiry = find(&state, &who, &id).await?;
    shown(&state, &inquiry).map(Json)
}

async fn answer(
    State(state): State<Arc<ApiState>>,
    RequestPrincipal(who): RequestPrincipal,
    Path(id): Path<String>,
    JsonBody(given): JsonBody<PermissionAnswer>,
) -> Result<Json<PermissionItem>, ApiProblem> {
    take(&state, &who, &id, given).await.map(Json)
}

async fn answer_many(
    State(state): State<Arc<ApiState>>,
    RequestPrincipal(who): RequestPrincipal,
    JsonBody(PermissionAnswers { answers }): JsonBody<PermissionAnswers>,
) -> Result<Response, ApiProblem> {
    if answers.is_empty() || answers.len() > MAX_ANSWERS {
        let message = format!("a request has 1 to {MAX_ANSWERS} answers");
        return Err(ApiProblem::invalid(message).at("/answers"));
    }
    let mut results = Vec::with_capacity(answers.len());
    for NamedPermissionAnswer { id, answer } in answers {
        let taken = take(&state, &who, &id, answer).await;
        results.push(match taken {
            Ok(permission) => PermissionAnswerResult {
                id,
                status: StatusCode::OK.as_u16(),
                permission: Some(permission),
                problem: None,
            },
            Err(problem) => PermissionAnswerResult {
                id,
                status: problem.status(),
                permission: None,
                problem: Some(problem),
            },
        });
    }
    Ok(Json(PermissionAnswerResults { results }).into_response())
}

/// Keeps an answer, or says why it does not count.
async fn take(
    state: &ApiState,
    who: &Principal,
    id: &str,
    given: PermissionAnswer,
) -> Result<PermissionItem, ApiProblem> {
    let inquiry = find(state, who, id).await?;
    refuse_settled(&inquiry, state.options.clock.now())?;
    if given.digest != inquiry.digest {
        return Err(ApiProblem::conflict(format!("{id} asks something else now")).at("/digest"));
    }
    let command = Command::Permit {
        session: inquiry.session.clone(),
        permission: PermissionId::parse(&inquiry.id)?,
        answer: Answer {
            decision: given.decision,
            scope: given.scope,
            because: given.because,
            digest: Some(given.digest),
        },
    };
    let sent = state.options.handle.send(who, command).await;
    let inquiry = find(state, who, id).await?;
    if let Err(error) = sent {
        // Another answer may have come first, or its time was up since it was looked at.
        refuse_settled(&inquiry, state.options.clock.now())?;
        return Err(error.into());
    }
    shown(state, &inquiry)
}

/// Refuses an answer to what is settled: with the answer that came first, if one did.
pub(super) fn refuse_settled(inquiry: &Inquiry, now: Timestamp) -> Result<(), ApiProblem> {
    let id = &inquiry.id;
    match state_of(inquiry, now) {
        InquiryState::Pending => Ok(()),
        InquiryState::Answered => Err(ApiProblem::conflict(format!("{id} is answered already"))
            .answered(AnsweredInquiry::of(inquiry))),
        InquiryState::Expired => Err(ApiProblem::gone(format!("the time to answer {id} is over"))),
        InquiryState::Withdrawn => Err(ApiProblem::gone(format!(
            "the agent that asked {id} has gone on"
        ))),
    }
}

/// The request with this id, if it is a permission request that the caller may see.
async fn find(state: &ApiState, who: &Principal, id: &str) -> Result<Inquiry, ApiProblem> {
    inquiry(state, who, id, "per_").await
}

/// The inquiry with exactly this id, of this kind.
pub(super) async fn inquiry(
    state: &ApiState,
    who: &Principal,
    id: &str,
    kind: &str,
) -> Result<Inquiry, ApiProblem> {
    let found = state.options.handle.queries(who).inquiry(id).await?;
    let found = found.filter(|found| found.id == id && id.starts_with(kind));
    let missing =
        || ApiProblem::not_found(ErrorCode::TaskNotFound, format!("nothing is asked as {id}"));
    found.ok_or_else(missing)
}

fn shown(state: &ApiState, inquiry: &Inquiry) -> Result<PermissionItem, ApiProblem> {
    let item = PermissionItem::of(inquiry, state.options.clock.now());
    let missing = || {
        ApiProblem::not_found(
            ErrorCode::TaskNotFound,
            format!("nothing is asked as {}", inquiry.id),
        )
    };
    item.ok_or_else(missing)
}

//! Questions of agents: lists them and takes answers.

use std::sync::Arc;

use axum::{
    Json,
    extract::{Path, State},
};
use rooftree_protocol::{
    AccessScope, Command, ErrorCode, QuestionId, QuestionReply,
    api_paths::{QUESTION, QUESTIONS},
};
use schemars::JsonSchema;
use serde::Serialize;

use super::{
    ApiProblem, ApiState,
    access::RequestPrincipal,
    extract::{JsonBody, QueryParameters},
    inquiry_types::QuestionItem,
    permissions::{self, InquiryListQuery},
    route_table::ApiRoute,
};

/// What ids of questions begin with.
const KIND: &str = "que_";

pub(super) fn routes() -> Vec<ApiRoute> {
    vec![
        ApiRoute::get(QUESTIONS, list)
            .needs(
                AccessScope::Read,
                "Lists questions of agents, in the order of permission requests",
            )
            .query::<InquiryListQuery>()
            .answers::<QuestionListPage>(200),
        ApiRoute::get(QUESTION, show)
            .needs(
                AccessScope::Read,
                "Shows the questions that an agent asks together",
            )
            .answers::<QuestionItem>(200),
        ApiRoute::post(QUESTION, answer)
            .needs(
                AccessScope::Approve,
                "Answers questions of an agent; the first answer counts",
            )
            .body::<QuestionReply>()
            .answers::<QuestionItem>(200)
            .fails(&[409, 410]),
    ]
}

/// One page of questions.
#[derive(Debug, Serialize, JsonSchema)]
struct QuestionListPage {
    /// The questions.
    questions: Vec<QuestionItem>,
    /// The cursor of the next page; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

async fn list(
    State(state): State<Arc<ApiState>>,
    RequestPrincipal(who): RequestPrincipal,
    QueryParameters(query): QueryParameters<InquiryListQuery>,
) -> Result<Json<QuestionListPage>, ApiProblem> {
    let now = state.options.clock.now();
    let (found, next) = permissions::listed(&state, &who, &query, KIND).await?;
    let questions = found
        .iter()
        .filter_map(|inquiry| QuestionItem::of(inquiry, now))
        .collect();
    Ok(Json(QuestionListPage { questions, next }))
}

async fn show(
    State(state): State<Arc<ApiState>>,
    RequestPrincipal(who): RequestPrincipal,
    Path(id): Path<String>,
) -> Result<Json<QuestionItem>, ApiProblem> {
    let inquiry = permissions::inquiry(&state, &who, &id, KIND).await?;
    let item = QuestionItem::of(&inquiry, state.options.clock.now());
    item.map(Json).ok_or_else(|| missing(&id))
}

async fn answer(
    State(state): State<Arc<ApiState>>,
    RequestPrincipal(who): RequestPrincipal,
    Path(id): Path<String>,
    JsonBody(reply): JsonBody<QuestionReply>,
) -> Result<Json<QuestionItem>, ApiProblem> {
    let inquiry = permissions::inquiry(&state, &who, &id, KIND).await?;
    permissions::refuse_settled(&inquiry, state.options.clock.now())?;
    let command = Command::Reply {
        question: QuestionId::parse(&inquiry.id)?,
        reply,
    };
    let sent = state.options.handle.send(&who, command).await;
    let inquiry = permissions::inquiry(&state, &who, &id, KIND).await?;
    let now = state.options.clock.now();
    if let Err(error) = sent {
        permissions::refuse_settled(&inquiry, now)?;
        return Err(error.into());
    }
    let item = QuestionItem::of(&inquiry, now);
    item.map(Json).ok_or_else(|| missing(&id))
}

fn missing(id: &str) -> ApiProblem {
    ApiProblem::not_found(ErrorCode::TaskNotFound, format!("nothing is asked as {id}"))
}

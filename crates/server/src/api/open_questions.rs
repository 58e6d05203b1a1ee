//! Permission requests and questions that wait for an answer, the oldest first.

use std::sync::Arc;

use axum::{Json, extract::State};
use rooftree_protocol::{
    AccessScope, EventBody, RunId, SessionId, Timestamp, api_paths::OPEN_QUESTIONS,
};
use rooftree_store::Inquiry;
use schemars::JsonSchema;
use serde::Serialize;

use super::{ApiProblem, ApiState, access::RequestPrincipal, route_table::ApiRoute};

pub(super) fn routes() -> Vec<ApiRoute> {
    vec![
        ApiRoute::get(OPEN_QUESTIONS, list)
            .needs(
                AccessScope::Read,
                "Lists permission requests and questions that wait, the oldest first",
            )
            .answers::<OpenQuestionList>(200),
    ]
}

/// What waits for an answer.
#[derive(Debug, Serialize, JsonSchema)]
struct OpenQuestionList {
    /// The questions, the oldest first.
    questions: Vec<WaitingQuestion>,
}

/// A permission request or question.
#[derive(Debug, Serialize, JsonSchema)]
struct WaitingQuestion {
    /// `per_…` or `que_…`.
    id: String,
    /// The session that asks.
    session: SessionId,
    /// The first session above it.
    root: SessionId,
    /// The run that asks.
    run: Option<RunId>,
    /// The agent that asks.
    agent: String,
    /// Names exactly what is asked.
    digest: String,
    /// What is asked, as the journal has it.
    asked: EventBody,
    /// Since when.
    asked_at: Timestamp,
    /// When it is answered by itself.
    until: Timestamp,
}

async fn list(
    State(state): State<Arc<ApiState>>,
    RequestPrincipal(who): RequestPrincipal,
) -> Result<Json<OpenQuestionList>, ApiProblem> {
    let mut open = state.options.handle.queries(&who).inquiries(None).await?;
    open.retain(|inquiry| inquiry.answer.is_none());
    open.sort_by(|one, other| (one.asked_at, &one.id).cmp(&(other.asked_at, &other.id)));
    let questions = open.into_iter().map(waiting).collect();
    Ok(Json(OpenQuestionList { questions }))
}

fn waiting(inquiry: Inquiry) -> WaitingQuestion {
    WaitingQuestion {
        id: inquiry.id,
        session: inquiry.session,
        root: inquiry.root,
        run: inquiry.run,
        agent: inquiry.agent,
        digest: inquiry.digest,
        asked: inquiry.asked,
        asked_at: inquiry.asked_at,
        until: inquiry.until,
    }
}

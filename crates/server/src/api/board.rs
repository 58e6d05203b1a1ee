//! The board: one page of it, and marking a session as read.

use std::sync::Arc;

use axum::{
    Json,
    extract::{Path, State},
    http::StatusCode,
};
use rooftree_protocol::{
    AccessScope, Command, SessionId, Timestamp,
    api_paths::{BOARD, SESSION_READ},
};
use rooftree_runtime::{BOARD_REST, BoardFilter, BoardPage};
use rooftree_store::BoardCursor;
use rooftree_view::board::{BoardRev, BoardRow};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    ApiProblem, ApiState,
    access::RequestPrincipal,
    extract::{JsonBody, QueryParameters},
    route_table::ApiRoute,
};

/// The most rows of a page besides those that ask for attention.
const MAX_REST: usize = 200;

pub(super) fn routes() -> Vec<ApiRoute> {
    vec![
        ApiRoute::get(BOARD, show)
            .needs(
                AccessScope::Read,
                "Shows the board: what needs a person, works, waits and is done",
            )
            .query::<BoardPageQuery>()
            .answers::<BoardAnswer>(200),
        ApiRoute::post(SESSION_READ, mark)
            .needs(
                AccessScope::Read,
                "Marks a session as read by the caller's person, up to an event",
            )
            .body::<ReadMarkBody>()
            .answers_nothing(204),
    ]
}

/// Which part of the board.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct BoardPageQuery {
    /// Only of this agent.
    agent: Option<String>,
    /// At most this many rows besides those that ask for attention.
    limit: Option<usize>,
    /// The `next` of the page before.
    cursor: Option<String>,
}

/// One page of the board.
#[derive(Debug, Serialize, JsonSchema)]
struct BoardAnswer {
    /// The revision, with which a stream goes on.
    rev: BoardRev,
    /// The rows; what asks most for attention comes first.
    rows: Vec<BoardRow>,
    /// Where the next page begins; absent after the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

/// How far a session was seen.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct ReadMarkBody {
    /// The last event that was seen; the newest there is if absent.
    upto: Option<u64>,
}

async fn show(
    State(state): State<Arc<ApiState>>,
    RequestPrincipal(who): RequestPrincipal,
    QueryParameters(query): QueryParameters<BoardPageQuery>,
) -> Result<Json<BoardAnswer>, ApiProblem> {
    let after = query.cursor.as_deref().map(parse_cursor).transpose()?;
    let filter = BoardFilter {
        agent: query.agent,
        rest: Some(query.limit.unwrap_or(BOARD_REST).clamp(1, MAX_REST)),
        after,
    };
    let queries = state.options.handle.queries(&who);
    let BoardPage { rev, rows, next } = queries.board(filter).await?;
    let next = next.map(|next| format!("{}.{}", next.rested_at.0, next.session));
    Ok(Json(BoardAnswer { rev, rows, next }))
}

fn parse_cursor(text: &str) -> Result<BoardCursor, ApiProblem> {
    let parsed = text.split_once('.').and_then(|(rested_at, session)| {
        Some(BoardCursor {
            rested_at: Timestamp(rested_at.parse().ok()?),
            session: SessionId::parse(session).ok()?,
        })
    });
    parsed.ok_or_else(|| ApiProblem::invalid("`cursor` is not one that a page gave"))
}

async fn mark(
    State(state): State<Arc<ApiState>>,
    RequestPrincipal(who): RequestPrincipal,
    Path(id): Path<String>,
    JsonBody(body): JsonBody<ReadMarkBody>,
) -> Result<StatusCode, ApiProblem> {
    let session = SessionId::parse(&id)?;
    let upto = body.upto;
    let command = Command::MarkRead { session, upto };
    state.options.handle.send(&who, command).await?;
    Ok(StatusCode::NO_CONTENT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_that_no_page_gave_is_refused() {
        for text in ["", "x.ses_a", "1", "1.run_a"] {
            assert!(parse_cursor(text).is_err(), "{text}");
        }
        assert!(parse_cursor("12.ses_a").is_ok());
    }
}

//! Finds the decision that was typed: by its call, its question, or the number of an event.

use rooftree_protocol::{ErrorCode, EventBody, Problem, Session};
use rooftree_runtime::Queries;
use rooftree_store::SessionFilter;

use super::past_call::{self, PastCall};
use crate::commands::sessions::{
    find::{self, LookupScope},
    journal,
};

/// Fewer characters than this are no end of an id.
const SHORTEST_END: usize = 4;

/// The calls that are meant, and whose they are.
pub struct MatchingCalls {
    pub session: Session,
    pub calls: Vec<PastCall>,
}

/// Looks where it can be: in the session that is named, in the one that asked, in all, the latest first.
pub async fn calls(
    store: &Queries,
    typed: &str,
    session: Option<&str>,
) -> Result<MatchingCalls, Problem> {
    if let Some((session, number)) = typed.rsplit_once(':')
        && let Ok(number) = number.parse::<u64>()
    {
        let session = find::session(store, session, LookupScope::Live).await?;
        return at(store, session, number).await;
    }
    if typed.len() < SHORTEST_END {
        return Err(nothing(typed));
    }
    let sessions = match session {
        Some(session) => vec![find::session(store, session, LookupScope::Live).await?],
        None => candidates(store, typed).await?,
    };
    for session in sessions {
        let events = journal::whole(store, &session).await?;
        let is_meant = |past: &PastCall| {
            past.call.id.as_str().ends_with(typed)
                || past.permission().is_some_and(|id| id.ends_with(typed))
        };
        let calls: Vec<PastCall> = past_call::calls(&events)
            .into_iter()
            .filter(is_meant)
            .collect();
        if !calls.is_empty() {
            return Ok(MatchingCalls { session, calls });
        }
    }
    Err(nothing(typed))
}

async fn candidates(store: &Queries, typed: &str) -> Result<Vec<Session>, Problem> {
    let asked = store
        .inquiry(typed)
        .await
        .map_err(|error| error.problem())?;
    if let Some(inquiry) = asked {
        let session = store
            .session(&inquiry.session)
            .await
            .map_err(|error| error.problem())?;
        return Ok(session.into_iter().collect());
    }
    store
        .sessions(SessionFilter::default())
        .await
        .map_err(|error| error.problem())
}

/// The calls an event is about.
async fn at(store: &Queries, session: Session, number: u64) -> Result<MatchingCalls, Problem> {
    let events = journal::whole(store, &session).await?;
    let Some(event) = events.iter().find(|event| event.id == Some(number)) else {
        return Err(Problem::new(
            ErrorCode::TaskNotFound,
            format!("session {} has no event {number}", session.id),
        )
        .fix(format!(
            "its events go up to {}; rooftree sessions events shows them",
            session.head
        )));
    };
    let calls: Vec<PastCall> = past_call::calls(&events)
        .into_iter()
        .filter(|past| past.is_about(event))
        .collect();
    if calls.is_empty() {
        return Err(about_nothing(&event.body, number));
    }
    Ok(MatchingCalls { session, calls })
}

fn about_nothing(body: &EventBody, number: u64) -> Problem {
    Problem::new(
        ErrorCode::InvalidArguments,
        format!(
            "event {number} is a {}, which decides about no call",
            body.name()
        ),
    )
    .fix("name a message.completed with calls, a tool.* or a permission.* event")
}

/// The error for a decision that is not in any journal.
pub fn nothing(typed: &str) -> Problem {
    Problem::new(ErrorCode::TaskNotFound, format!("there is no decision `{typed}`"))
        .fix("type call_…, per_… or 4 or more characters of their end, or SESSION:NUMBER; rooftree sessions events SESSION shows both")
}

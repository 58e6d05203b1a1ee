//! Finds the session that was typed: a full id, its last characters, or a name.

use rooftree_protocol::{ErrorCode, Problem, Session};
use rooftree_store::{SessionFilter, Store};

use super::in_words;

/// Fewer characters than this are no end of an id: too many sessions could be meant.
const SHORTEST_END: usize = 4;
/// More candidates than this are not listed.
const MOST_CANDIDATES: usize = 10;

/// Which sessions can be meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LookupScope {
    Live,
    Deleted,
}

/// The one session that is meant.
pub async fn session(
    store: &dyn Store,
    typed: &str,
    among: LookupScope,
) -> Result<Session, Problem> {
    let mut found = called(store, typed, among).await?;
    match (found.pop(), found.is_empty()) {
        (Some(only), true) => Ok(only),
        (Some(last), false) => {
            found.push(last);
            Err(ambiguous(typed, &found))
        }
        (None, _) => Err(missing(store, typed, among).await?),
    }
}

/// Those a text could mean. A whole id or a whole name leaves no doubt; ends of ids may.
async fn called(
    store: &dyn Store,
    typed: &str,
    among: LookupScope,
) -> Result<Vec<Session>, Problem> {
    let filter = SessionFilter {
        called: Some(typed.to_owned()),
        deleted: among == LookupScope::Deleted,
        ..SessionFilter::default()
    };
    let found = store.sessions(filter).await.map_err(in_words)?;
    let exactly = |session: &&Session| is_whole(session, typed);
    let whole: Vec<Session> = found.iter().filter(exactly).cloned().collect();
    Ok(match (whole.is_empty(), typed.len() >= SHORTEST_END) {
        (false, _) => whole,
        (true, true) => found,
        (true, false) => Vec::new(),
    })
}

fn is_whole(session: &Session, typed: &str) -> bool {
    let named = session
        .name
        .as_deref()
        .is_some_and(|name| name.to_lowercase() == typed.to_lowercase());
    named || session.id.as_str() == typed
}

fn ambiguous(typed: &str, candidates: &[Session]) -> Problem {
    let mut lines: Vec<String> = candidates
        .iter()
        .take(MOST_CANDIDATES)
        .map(described)
        .collect();
    if candidates.len() > MOST_CANDIDATES {
        lines.push(format!("and {} more", candidates.len() - MOST_CANDIDATES));
    }
    let message = format!("`{typed}` could be any of {} sessions", candidates.len());
    Problem::new(ErrorCode::InvalidArguments, message)
        .cause(lines.join("\n"))
        .fix("type more of the id, or the whole name")
}

fn described(session: &Session) -> String {
    let called = session
        .name
        .as_ref()
        .map(|name| format!(" `{name}`"))
        .unwrap_or_default();
    format!("{}{called}, {}", session.id, session.agent)
}

/// Says that there is none, and what may have been meant.
async fn missing(store: &dyn Store, typed: &str, among: LookupScope) -> Result<Problem, Problem> {
    let other = if among == LookupScope::Live {
        LookupScope::Deleted
    } else {
        LookupScope::Live
    };
    let problem = |message: String| Problem::new(ErrorCode::SessionNotFound, message);
    Ok(match (called(store, typed, other).await?.first(), among) {
        (Some(session), LookupScope::Live) => problem(format!("session {} is deleted", session.id))
            .fix(format!("rooftree sessions restore {}", session.id)),
        (Some(session), LookupScope::Deleted) => {
            problem(format!("session {} is not deleted", session.id))
        }
        (None, _) if typed.len() < SHORTEST_END => {
            problem(format!("there is no session called `{typed}`")).fix(format!(
                "type at least {SHORTEST_END} characters of an id, or a whole name"
            ))
        }
        (None, _) => problem(format!("there is no session `{typed}`"))
            .fix("rooftree sessions list --all shows what there is"),
    })
}

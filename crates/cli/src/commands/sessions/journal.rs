//! Reads a session's journal, page by page.

use rooftree_protocol::{Event, Problem, Session};
use rooftree_runtime::Queries;

use super::in_words;

/// Events read at a time.
const PAGE: usize = 2_000;

/// All events of a session up to the head its row had, inherited ones included. What is
/// appended meanwhile is left out, so that row and events fit each other.
pub async fn whole(store: &Queries, session: &Session) -> Result<Vec<Event>, Problem> {
    store.journal(session, 0).await.map_err(in_words)
}

/// The next events after a number; none if there are no more yet.
pub async fn page(store: &Queries, session: &Session, after: u64) -> Result<Vec<Event>, Problem> {
    store
        .events(&session.id, after, PAGE)
        .await
        .map_err(in_words)
}

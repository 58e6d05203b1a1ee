//! Reads a session's journal, page by page.

use rooftree_client::RuntimeClient;
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

/// The same from a runtime wherever it is.
pub async fn read(client: &dyn RuntimeClient, session: &Session) -> Result<Vec<Event>, Problem> {
    let (mut events, mut after) = (Vec::new(), 0);
    while after < session.head {
        let page = client.events(&session.id, after, PAGE).await?;
        let Some(last) = page.last().and_then(|event| event.id) else {
            break;
        };
        after = last;
        events.extend(page);
    }
    events.retain(|event| event.id <= Some(session.head));
    Ok(events)
}

/// The next events after a number; none if there are no more yet.
pub async fn page(store: &Queries, session: &Session, after: u64) -> Result<Vec<Event>, Problem> {
    store
        .events(&session.id, after, PAGE)
        .await
        .map_err(in_words)
}

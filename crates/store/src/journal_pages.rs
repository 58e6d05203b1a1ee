//! Journal paging: reads the events of a session page by page, from a number on and up to another.

use rooftree_protocol::{Event, SessionId};

use crate::{Error, Store};

/// Events read at a time.
const PAGE: usize = 2_000;

/// Pages of a session's journal, in order.
pub struct JournalPages<'a> {
    store: &'a dyn Store,
    session: &'a SessionId,
    after: u64,
    last: u64,
    size: usize,
    is_done: bool,
}

impl<'a> JournalPages<'a> {
    /// All events after this number, inherited ones included.
    pub fn after(store: &'a dyn Store, session: &'a SessionId, after: u64) -> Self {
        Self {
            store,
            session,
            after,
            last: u64::MAX,
            size: PAGE,
            is_done: false,
        }
    }

    /// Only events up to and including this number: what is appended meanwhile is left out.
    pub fn up_to(self, last: u64) -> Self {
        Self { last, ..self }
    }

    /// With so many events on a page.
    pub fn of_size(self, size: usize) -> Self {
        Self { size, ..self }
    }

    /// The next page, never an empty one; none at the end.
    pub async fn next(&mut self) -> Result<Option<Vec<Event>>, Error> {
        let left = usize::try_from(self.last.saturating_sub(self.after)).unwrap_or(usize::MAX);
        let limit = self.size.min(left);
        if self.is_done || limit == 0 {
            return Ok(None);
        }
        let page = self.store.events(self.session, self.after, limit).await?;
        self.is_done = page.len() < limit;
        self.after = page.last().and_then(|event| event.id).unwrap_or(self.after);
        Ok((!page.is_empty()).then_some(page))
    }

    /// All that is left, in one list.
    pub async fn all(mut self) -> Result<Vec<Event>, Error> {
        let mut all = Vec::new();
        while let Some(page) = self.next().await? {
            all.extend(page);
        }
        Ok(all)
    }
}

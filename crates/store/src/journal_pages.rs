//! Journal paging: reads the events of a session page by page, from a number on and up to another.
//!
//! Where the end is known, the next pages are read ahead (prefetch) while the caller works on one: readers of the store
//! work at the same time.

use std::collections::VecDeque;

use rooftree_protocol::{Event, SessionId};

use crate::{Error, Pending, Store};

/// Events read at a time.
const PAGE: usize = 1_000;

/// Pages that are read at the same time.
const AHEAD: usize = 3;

/// Pages of a session's journal, in order.
pub struct JournalPages<'a> {
    store: &'a dyn Store,
    session: &'a SessionId,
    /// The number of the last event that was asked for.
    asked: u64,
    last: u64,
    size: usize,
    is_done: bool,
    /// Pages that were asked for, each with the number of the last event it should have.
    in_flight: VecDeque<(u64, Pending<Vec<Event>>)>,
}

impl<'a> JournalPages<'a> {
    /// All events after this number, inherited ones included.
    pub fn after(store: &'a dyn Store, session: &'a SessionId, after: u64) -> Self {
        Self {
            store,
            session,
            asked: after,
            last: u64::MAX,
            size: PAGE,
            is_done: false,
            in_flight: VecDeque::new(),
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
        self.ask();
        let Some((end, page)) = self.in_flight.front_mut() else {
            return Ok(None);
        };
        // It stays in the list until it is there: dropping this wait loses nothing.
        let (end, page) = (*end, page.await);
        self.in_flight.pop_front();
        let page = page?;
        let Some(last) = page.last().and_then(|event| event.id) else {
            (self.is_done, self.in_flight) = (true, VecDeque::new());
            return Ok(None);
        };
        if last != end {
            // The journal ends here, or numbers are missing: what was asked for ahead begins elsewhere.
            (self.asked, self.in_flight) = (last, VecDeque::new());
            self.is_done = last < end;
        }
        Ok(Some(page))
    }

    /// Asks for pages; for several only if it is known that there are as many.
    fn ask(&mut self) {
        let ahead = if self.last == u64::MAX { 1 } else { AHEAD };
        while !self.is_done && self.in_flight.len() < ahead && self.asked < self.last {
            let left = usize::try_from(self.last - self.asked).unwrap_or(usize::MAX);
            let limit = self.size.min(left);
            let end = self
                .asked
                .saturating_add(u64::try_from(limit).unwrap_or(u64::MAX));
            let page = self.store.events(self.session, self.asked, limit);
            self.in_flight.push_back((end, page));
            self.asked = end;
        }
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

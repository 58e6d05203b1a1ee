//! Queries: all that clients read of the store, for one principal. Long lists are read page by page with a cursor.
//!
//! A session that the principal may not see is not there, and neither is anything that belongs to it.

use std::sync::Arc;

use rooftree_protocol::{BlobId, Event, Lane, Principal, RuleScope, Session, SessionId, Timestamp};
use rooftree_store::{
    AgentRow, AuditRow, Error, InboxItem, Inquiry, InquiryHistoryFilter, JournalPages, OutputPiece,
    Owner, RuleRow, RunFilter, RunRow, SearchHit, SessionFilter, SessionListCursor, Store,
    TaskFilter, TaskRow, UsageFilter, UsageGroup, UsageRow,
};
use tokio::sync::watch;

/// What one principal may read. Cheap to clone.
#[derive(Clone)]
pub struct Queries {
    store: Arc<dyn Store>,
    who: Arc<Principal>,
}

/// One page of a list.
#[derive(Clone, Debug, PartialEq)]
pub struct ListPage<T, C> {
    /// Its rows.
    pub rows: Vec<T>,
    /// Where the next page begins; none after the last one.
    pub next: Option<C>,
}

impl Queries {
    pub(crate) fn new(store: Arc<dyn Store>, who: &Principal) -> Self {
        let who = Arc::new(who.clone());
        Self { store, who }
    }

    pub(super) fn store(&self) -> &dyn Store {
        &*self.store
    }

    /// One session by id, deleted ones included.
    pub async fn session(&self, id: &SessionId) -> Result<Option<Session>, Error> {
        let found = self.store.session(id).await?;
        Ok(found.filter(|found| self.who.may_see(found)))
    }

    /// The session bound to a connector key.
    pub async fn session_by_key(&self, key: &str) -> Result<Option<Session>, Error> {
        let found = self.store.session_by_key(key).await?;
        Ok(found.filter(|found| self.who.may_see(found)))
    }

    /// Sessions, most recently updated first.
    pub async fn sessions(&self, filter: SessionFilter) -> Result<Vec<Session>, Error> {
        let tenant = Some(self.who.tenant.clone());
        self.store
            .sessions(SessionFilter { tenant, ..filter })
            .await
    }

    /// One page of them.
    pub async fn sessions_page(
        &self,
        filter: SessionFilter,
    ) -> Result<ListPage<Session, SessionListCursor>, Error> {
        let limit = filter.limit;
        let rows = self.sessions(filter).await?;
        let next = rows.last().filter(|_| limit > 0 && rows.len() == limit);
        let next = next.map(SessionListCursor::from);
        Ok(ListPage { rows, next })
    }

    /// Events of a session with a number above `after`, in order, at most `limit`.
    pub async fn events(
        &self,
        session: &SessionId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<Event>, Error> {
        self.needed(session).await?;
        self.store.events(session, after, limit).await
    }

    /// All events of a session after this number, up to the head its row has here. What is appended meanwhile is left
    /// out, so that row and events fit each other.
    pub async fn journal(&self, session: &Session, after: u64) -> Result<Vec<Event>, Error> {
        self.events_up_to(&session.id, after, session.head).await
    }

    /// All events of a session after this number.
    pub async fn all_events(&self, session: &SessionId, after: u64) -> Result<Vec<Event>, Error> {
        self.events_up_to(session, after, u64::MAX).await
    }

    /// Events of a session after a number, up to and including another.
    pub async fn events_up_to(
        &self,
        session: &SessionId,
        after: u64,
        last: u64,
    ) -> Result<Vec<Event>, Error> {
        self.needed(session).await?;
        let pages = JournalPages::after(&*self.store, session, after);
        pages.up_to(last).all().await
    }

    /// Messages and replies that contain the words, best first.
    pub async fn search(&self, words: &str, limit: usize) -> Result<Vec<SearchHit>, Error> {
        let mut found = Vec::new();
        for hit in self.store.search(words, limit).await? {
            if self.who.may_see(&hit.session) {
                found.push(hit);
            }
        }
        Ok(found)
    }

    /// Runs, the latest first.
    pub async fn runs(&self, filter: RunFilter) -> Result<Vec<RunRow>, Error> {
        let tenant = Some(self.who.tenant.clone());
        let mut filter = RunFilter { tenant, ..filter };
        let (limit, mut found) = (filter.limit, Vec::new());
        loop {
            let page = self.store.runs(filter.clone()).await?;
            let is_last = limit == 0 || page.len() < limit;
            filter.before = page.last().and_then(|row| row.started.run.clone());
            for row in page {
                if self.sees(&row.started.session).await? {
                    found.push(row);
                }
            }
            if is_last || found.len() >= limit || filter.before.is_none() {
                break;
            }
        }
        found.truncate(if limit == 0 { found.len() } else { limit });
        Ok(found)
    }

    /// Whether the principal may see a session. The owner need not be looked up: he sees all of his tenant.
    async fn sees(&self, session: &SessionId) -> Result<bool, Error> {
        Ok(self.who.may_change_rights_of_all() || self.session(session).await?.is_some())
    }

    /// What all sessions used, summed up by agent, model, day or session.
    pub async fn usage(&self, by: UsageGroup) -> Result<Vec<UsageRow>, Error> {
        let tenant = Some(self.who.tenant.clone());
        self.store.usage(UsageFilter { by, tenant }).await
    }

    /// Sessions with an open run or a message that waits, oldest first.
    pub async fn unfinished(&self) -> Result<Vec<SessionId>, Error> {
        let mut found = Vec::new();
        for session in self.store.unfinished().await? {
            if self.session(&session).await?.is_some() {
                found.push(session);
            }
        }
        Ok(found)
    }

    /// Whether a session has an open run or a message that waits.
    pub async fn is_unfinished(&self, session: &SessionId) -> Result<bool, Error> {
        self.needed(session).await?;
        Ok(self.store.unfinished().await?.contains(session))
    }

    /// The process that owns a session now, whether alive or not.
    pub async fn owner(&self, session: &SessionId) -> Result<Option<Owner>, Error> {
        self.needed(session).await?;
        self.store.owner(session).await
    }

    /// Messages of a lane that wait, in order.
    pub async fn waiting(
        &self,
        session: &SessionId,
        lane: Lane,
        limit: usize,
    ) -> Result<Vec<InboxItem>, Error> {
        self.needed(session).await?;
        self.store.waiting(session, lane, limit).await
    }

    /// One permission request or question, by its id or a unique suffix of it.
    pub async fn inquiry(&self, id: &str) -> Result<Option<Inquiry>, Error> {
        match self.store.inquiry(id).await? {
            Some(found) if self.session(&found.session).await?.is_some() => Ok(Some(found)),
            _ => Ok(None),
        }
    }

    /// Permission requests and questions that are not settled: all, or those below one session.
    pub async fn inquiries(&self, root: Option<&SessionId>) -> Result<Vec<Inquiry>, Error> {
        let mut found = Vec::new();
        for inquiry in self.store.inquiries(root).await? {
            if self.session(&inquiry.session).await?.is_some() {
                found.push(inquiry);
            }
        }
        Ok(found)
    }

    /// Permission requests and questions that were answered or settled, the one asked last first.
    pub async fn inquiry_history(
        &self,
        since: Timestamp,
        after: Option<(Timestamp, String)>,
        limit: usize,
    ) -> Result<Vec<Inquiry>, Error> {
        let mut found = Vec::new();
        let mut after = after;
        // Pages hold what the principal may see: others are left out, and the rest of the page is read.
        while found.len() < limit {
            let filter = InquiryHistoryFilter {
                tenant: self.who.tenant.clone(),
                since,
                after: after.take(),
                limit,
            };
            let page = self.store.inquiry_history(filter).await?;
            let is_last = page.len() < limit;
            after = page.last().map(|last| (last.asked_at, last.id.clone()));
            for inquiry in page {
                if found.len() < limit && self.session(&inquiry.session).await?.is_some() {
                    found.push(inquiry);
                }
            }
            if is_last {
                break;
            }
        }
        Ok(found)
    }

    /// One task by its id, or by a unique suffix of it.
    pub async fn task(&self, id: &str) -> Result<Option<TaskRow>, Error> {
        match self.store.task(id).await? {
            Some(found) if self.session(&found.session).await?.is_some() => Ok(Some(found)),
            _ => Ok(None),
        }
    }

    /// Tasks, newest first.
    pub async fn tasks(&self, filter: TaskFilter) -> Result<Vec<TaskRow>, Error> {
        let tenant = Some(self.who.tenant.clone());
        let mut filter = TaskFilter { tenant, ..filter };
        let (limit, mut found) = (filter.limit, Vec::new());
        loop {
            let page = self.store.tasks(filter.clone()).await?;
            let is_last = limit == 0 || page.len() < limit;
            filter.after = page.last().map(|row| row.id.clone());
            for row in page {
                if self.sees(&row.session).await? {
                    found.push(row);
                }
            }
            if is_last || found.len() >= limit {
                break;
            }
        }
        found.truncate(if limit == 0 { found.len() } else { limit });
        Ok(found)
    }

    /// What a task's process wrote after so many bytes, in order.
    pub async fn output(&self, task: &str, after: u64) -> Result<Vec<OutputPiece>, Error> {
        match self.task(task).await? {
            Some(task) => self.store.output(&task.id, after).await,
            None => Ok(Vec::new()),
        }
    }

    /// The last piece of what a task's process wrote.
    pub async fn last_output(&self, task: &str) -> Result<Option<OutputPiece>, Error> {
        match self.task(task).await? {
            Some(task) => self.store.last_output(&task.id).await,
            None => Ok(None),
        }
    }

    /// Stored bytes. They are named by their content: to name them is to have seen them.
    pub async fn blob(&self, id: &BlobId) -> Result<Option<Vec<u8>>, Error> {
        self.store.blob(id).await
    }

    /// Stored bytes that this person uploaded, or that an event or waiting message of a session names which the
    /// principal may see; none otherwise.
    pub async fn visible_blob(
        &self,
        id: &BlobId,
        session: Option<&SessionId>,
    ) -> Result<Option<Vec<u8>>, Error> {
        let is_visible = match session {
            Some(session) => {
                self.needed(session).await?;
                self.store.names_blob(session, id).await?
            }
            None => false,
        };
        if is_visible || self.store.is_upload_of(id, &self.who.account()).await? {
            return self.store.blob(id).await;
        }
        Ok(None)
    }

    /// Saved permission rules, the oldest first: all for the owner, those of his sessions for another person.
    pub async fn rules(&self) -> Result<Vec<RuleRow>, Error> {
        let (_, all) = self.store.rules().await?;
        if self.who.may_change_rights_of_all() {
            return Ok(all);
        }
        let mut own = Vec::new();
        for rule in all {
            if let RuleScope::Session(session) = &rule.scope
                && self.session(session).await?.is_some()
            {
                own.push(rule);
            }
        }
        Ok(own)
    }

    /// Agents made over the API, by name.
    pub async fn api_agents(&self) -> Result<Vec<AgentRow>, Error> {
        self.store.agents(&self.who.tenant).await
    }

    /// Entries of the audit log with a number above `after`, in order, at most `limit`.
    pub async fn audit(&self, after: i64, limit: usize) -> Result<Vec<AuditRow>, Error> {
        self.store.audit(&self.who.tenant, after, limit).await
    }

    /// Fires after another process committed something.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.store.changes()
    }

    async fn needed(&self, session: &SessionId) -> Result<(), Error> {
        match self.session(session).await? {
            Some(_) => Ok(()),
            None => Err(Error::NoSession(session.clone())),
        }
    }
}

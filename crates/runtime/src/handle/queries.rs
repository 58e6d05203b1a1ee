//! Queries: all that clients read of the store, for one principal. Long lists are read page by page with a cursor.
//!
//! A session that the principal may not see is not there, and neither is anything that belongs to it.

use std::sync::Arc;

use rooftree_protocol::{BlobId, Event, Lane, Principal, RuleScope, Session, SessionId, Timestamp};
use rooftree_store::{
    AgentRow, AuditRow, Error, InboxItem, Inquiry, InquiryHistoryFilter, JournalPages,
    JournalSearch, OutputPiece, Owner, RuleRow, RunFilter, RunRow, SearchHit, SessionFilter,
    SessionListCursor, Store, TaskFilter, TaskRow, UsageFilter, UsageRow, VisibleSessions,
};
use tokio::sync::watch;

use crate::{
    board::{BoardFilter, BoardHub, BoardPage, BoardReader, BoardVisibility},
    visibility,
};

/// What one principal may read. Cheap to clone.
#[derive(Clone)]
pub struct Queries {
    store: Arc<dyn Store>,
    who: Arc<Principal>,
    board: BoardReader,
    boards: Arc<BoardHub>,
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
    pub(crate) fn new(
        store: Arc<dyn Store>,
        who: &Principal,
        board: BoardReader,
        boards: Arc<BoardHub>,
    ) -> Self {
        let who = Arc::new(who.clone());
        Self {
            store,
            who,
            board,
            boards,
        }
    }

    /// One page of the board: what needs a person, failed and was not seen, works, waits or is pinned, and the latest
    /// of the rest.
    pub async fn board(&self, filter: BoardFilter) -> Result<BoardPage, Error> {
        let visibility = BoardVisibility::of(&self.who);
        let rev = self.boards.rev(&visibility);
        self.board.page(&visibility, filter, rev).await
    }

    pub(super) fn store(&self) -> &dyn Store {
        &*self.store
    }

    /// One session by id, deleted ones included.
    pub async fn session(&self, id: &SessionId) -> Result<Option<Session>, Error> {
        visibility::find(&*self.store, &self.who, id).await
    }

    /// The session bound to a connector key.
    pub async fn session_by_key(&self, key: &str) -> Result<Option<Session>, Error> {
        match self.store.session_by_key(key).await? {
            Some(found) if self.may_see(&found).await? => Ok(Some(found)),
            _ => Ok(None),
        }
    }

    /// Sessions, most recently updated first.
    pub async fn sessions(&self, filter: SessionFilter) -> Result<Vec<Session>, Error> {
        let (tenant, visible) = self.visible(&filter.visible);
        let filter = SessionFilter {
            tenant,
            visible,
            ..filter
        };
        self.store.sessions(filter).await
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
        let (tenant, visible) = self.visible(&VisibleSessions::default());
        let search = JournalSearch {
            tenant,
            visible,
            ..JournalSearch::new(words, limit)
        };
        self.store.search(search).await
    }

    /// Runs, the latest first.
    pub async fn runs(&self, filter: RunFilter) -> Result<Vec<RunRow>, Error> {
        let (tenant, visible) = self.visible(&filter.visible);
        let filter = RunFilter {
            tenant,
            visible,
            ..filter
        };
        self.store.runs(filter).await
    }

    /// What sessions used, summed up by agent, model, day or session.
    pub async fn usage(&self, filter: UsageFilter) -> Result<Vec<UsageRow>, Error> {
        let (tenant, visible) = self.visible(&filter.visible);
        let filter = UsageFilter {
            tenant,
            visible,
            ..filter
        };
        self.store.usage(filter).await
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

    /// Permission requests and questions of one session that are not settled.
    pub async fn inquiries_of(&self, session: &SessionId) -> Result<Vec<Inquiry>, Error> {
        let mut open = self.inquiries(None).await?;
        open.retain(|inquiry| inquiry.session == *session);
        Ok(open)
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
        let (tenant, visible) = self.visible(&filter.visible);
        let filter = TaskFilter {
            tenant,
            visible,
            ..filter
        };
        self.store.tasks(filter).await
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

    /// Saved permission rules, the oldest first: for the owner all, else those of sessions that are visible.
    pub async fn rules(&self) -> Result<Vec<RuleRow>, Error> {
        let rules = self.store.rules().await?.1;
        let mut found = Vec::new();
        for rule in rules {
            if is_visible_rule(&*self.store, &self.who, &rule.scope).await? {
                found.push(rule);
            }
        }
        Ok(found)
    }

    /// Agents made over the API, by name.
    pub async fn api_agents(&self) -> Result<Vec<AgentRow>, Error> {
        self.store.agents(&self.who.tenant).await
    }

    /// Entries of the audit log with a number above `after`, in order, at most `limit`. Only for the owner.
    pub async fn audit(&self, after: i64, limit: usize) -> Result<Vec<AuditRow>, Error> {
        if !self.who.is_unbound_owner() {
            return Ok(Vec::new());
        }
        self.store.audit(&self.who.tenant, after, limit).await
    }

    /// Fires after another process committed something.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.store.changes()
    }

    async fn may_see(&self, session: &Session) -> Result<bool, Error> {
        visibility::may_see(&*self.store, &self.who, session).await
    }

    /// The tenant and the sessions that a list may hold.
    fn visible(&self, wanted: &VisibleSessions) -> (Option<String>, VisibleSessions) {
        let visible = VisibleSessions::of(&self.who).narrowed_by(wanted.clone());
        (Some(self.who.tenant.clone()), visible)
    }

    async fn needed(&self, session: &SessionId) -> Result<(), Error> {
        match self.session(session).await? {
            Some(_) => Ok(()),
            None => Err(Error::NoSession(session.clone())),
        }
    }
}

/// Whether a principal may see and change a rule: the owner all, others those of sessions that they may see.
pub(super) async fn is_visible_rule(
    store: &dyn Store,
    who: &Principal,
    scope: &RuleScope,
) -> Result<bool, Error> {
    match scope {
        _ if who.may_rule_all() => Ok(true),
        RuleScope::Session(session) => Ok(visibility::find(store, who, session).await?.is_some()),
        RuleScope::Project(_) | RuleScope::Always => Ok(false),
    }
}

//! The outbox over the handle: listing messages to chats, retrying or dropping one, and what delivery services need.

use std::sync::Arc;

use futures::FutureExt;
use rooftree_protocol::{ErrorCode, OutboxInfo, Principal, Problem};
use rooftree_stdx::shorten::shorten;
use rooftree_store::{
    AuditEntry, OutboxCounts, OutboxFilter, OutboxPost, OutboxRow, OutboxState, OutboxWish, Owner,
    Store,
};
use tokio::sync::watch;

use super::{Handle, row_watch::RowWatch};
use crate::{ChatWork, Clock, Error, visibility};

/// Messages of a page of the outbox at most.
const MOST: usize = 500;
/// Messages that a watch of the outbox holds at most: those that are not delivered, and others.
const WATCHED_UNDELIVERED: usize = 200;
const WATCHED_NEWEST: usize = 50;
/// Characters of a message that a watch tells.
const WATCHED_CHARS: usize = 500;

/// Which messages to chats to list, the newest first.
#[derive(Clone, Debug, Default)]
pub struct OutboxQuery {
    /// Only those to this connector.
    pub connector: Option<String>,
    /// Only those in one of these states.
    pub states: Option<Vec<OutboxState>>,
    /// Only those with a lower number: the next page.
    pub before: Option<i64>,
    /// At most this many.
    pub limit: usize,
}

/// One page of messages to chats.
#[derive(Clone, Debug, Default)]
pub struct OutboxRows {
    /// The messages.
    pub rows: Vec<OutboxRow>,
    /// What to give as `before` for the next page; none after the last one.
    pub next: Option<i64>,
}

/// What services that join connectors with this runtime use. It is for code of the program, not for clients.
#[derive(Clone)]
pub struct ConnectorAccess {
    /// The store, which redacts secrets.
    pub store: Arc<dyn Store>,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// This process, for claims of workers.
    pub owner: Owner,
    handle: Handle,
}

impl ConnectorAccess {
    /// Fires when this process has put a message into the outbox.
    pub fn posted(&self) -> watch::Receiver<u64> {
        self.handle.chats.posted()
    }

    /// Says that the delivery of a message goes on, and it is stored.
    pub fn note_delivery(&self) {
        self.handle.chats.note_change();
    }

    /// The runs of this process that work for a chat.
    pub fn working(&self) -> Vec<ChatWork> {
        self.handle.chats.working()
    }

    /// Puts a message into the outbox; says whether it is new.
    pub async fn post(&self, post: OutboxPost, audit: Option<AuditEntry>) -> Result<bool, Error> {
        let is_new = self.store.post_outbox(post, audit).await?;
        self.handle.chats.note_posted();
        Ok(is_new)
    }

    /// The handle it belongs to.
    pub fn handle(&self) -> &Handle {
        &self.handle
    }
}

impl Handle {
    /// What services that join connectors with this runtime use.
    pub fn connector_access(&self) -> ConnectorAccess {
        ConnectorAccess {
            store: self.store.clone(),
            clock: self.clock.clone(),
            owner: self.owner.clone(),
            handle: self.clone(),
        }
    }

    /// Messages to chats, the newest first: all of them for the owner, else those of this person. A token that is
    /// bound to agents sees those of their sessions.
    pub async fn outbox(&self, who: &Principal, query: OutboxQuery) -> Result<OutboxRows, Error> {
        let limit = query.limit.min(MOST);
        let filter = OutboxFilter {
            tenant: who.tenant.clone(),
            person: (!who.is_owner()).then(|| who.person.clone()),
            connector: query.connector,
            states: query.states,
            before: query.before,
            limit,
        };
        let found = self.store.outbox(filter).await?;
        let next = found.last().filter(|_| found.len() == limit);
        let next = next.map(|last| last.number);
        let mut rows = Vec::with_capacity(found.len());
        for row in found {
            if self.may_see_message(who, &row).await? {
                rows.push(row);
            }
        }
        Ok(OutboxRows { rows, next })
    }

    /// Watches messages to chats that a principal may see: all that are not delivered, and the newest of the others.
    pub fn watch_outbox(&self, who: &Principal) -> RowWatch<OutboxInfo> {
        let signals = vec![self.chats.changed(), self.store.changes()];
        let (handle, who) = (self.clone(), who.clone());
        RowWatch::new(signals, move || {
            let (handle, who) = (handle.clone(), who.clone());
            async move { handle.watched_messages(&who).await }.boxed()
        })
    }

    async fn watched_messages(&self, who: &Principal) -> Result<Vec<OutboxInfo>, Error> {
        let undelivered = OutboxQuery {
            states: Some(OutboxState::UNDELIVERED.to_vec()),
            limit: WATCHED_UNDELIVERED,
            ..OutboxQuery::default()
        };
        let newest = OutboxQuery {
            limit: WATCHED_NEWEST,
            ..OutboxQuery::default()
        };
        let mut rows = self.outbox(who, undelivered).await?.rows;
        rows.extend(self.outbox(who, newest).await?.rows);
        rows.sort_by_key(|row| std::cmp::Reverse(row.number));
        rows.dedup_by_key(|row| row.number);
        let infos = rows.into_iter().map(OutboxRow::info);
        let shortened = infos.map(|info| OutboxInfo {
            text: shorten(&info.text, WATCHED_CHARS),
            ..info
        });
        Ok(shortened.collect())
    }

    async fn may_see_message(&self, who: &Principal, row: &OutboxRow) -> Result<bool, Error> {
        if who.agents.is_none() {
            return Ok(who.may_see_account(&row.post.account));
        }
        match &row.post.session {
            Some(session) => {
                let found = visibility::find(&*self.store, who, session).await?;
                Ok(found.is_some())
            }
            None => Ok(false),
        }
    }

    /// How many messages are not delivered, by connector.
    pub async fn outbox_counts(&self, who: &Principal) -> Result<Vec<OutboxCounts>, Error> {
        Ok(self.store.outbox_counts(&who.tenant).await?)
    }

    /// Has a message delivered again, or not at all. The change and its audit entry are one commit.
    pub async fn change_outbox(
        &self,
        who: &Principal,
        id: &str,
        wish: OutboxWish,
    ) -> Result<OutboxRow, Error> {
        let known = self.store.outbox_row(id).await?;
        // One that this principal may not see is not there.
        let is_visible = match known {
            Some(row) => self.may_see_message(who, &row).await?,
            None => false,
        };
        let action = match wish {
            OutboxWish::Retry => "outbox.retry",
            OutboxWish::Drop => "outbox.drop",
        };
        let audit = AuditEntry::done(who, self.now(), action, id);
        let changed = match is_visible {
            true => self.store.change_outbox(id, wish, self.now(), Some(audit)),
            false => return Err(no_message(id)),
        };
        let changed = changed.await?.ok_or_else(|| no_message(id))?;
        self.chats.note_posted();
        let wanted = match wish {
            OutboxWish::Retry => OutboxState::Planned,
            OutboxWish::Drop => OutboxState::Superseded,
        };
        if changed.state == wanted {
            return Ok(changed);
        }
        let message = format!("the message {id} is {}", changed.state.name());
        Err(Problem::new(ErrorCode::Conflict, message)
            .fix("only messages that are not sent and not being sent are retried or dropped")
            .into())
    }
}

fn no_message(id: &str) -> Error {
    Problem::new(
        ErrorCode::TaskNotFound,
        format!("there is no message {id} in the outbox"),
    )
    .fix("rooftree outbox list shows what there is")
    .into()
}

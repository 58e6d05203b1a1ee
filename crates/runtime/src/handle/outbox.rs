//! The outbox over the handle: listing messages to chats, retrying or dropping one, and what delivery services need.

use std::sync::Arc;

use rooftree_protocol::{ErrorCode, Principal, Problem};
use rooftree_store::{
    AuditEntry, OutboxCounts, OutboxFilter, OutboxPost, OutboxRow, OutboxState, OutboxWish, Owner,
    Store,
};
use tokio::sync::watch;

use super::Handle;
use crate::{ChatWork, Clock, Error, visibility};

/// Messages of a page of the outbox at most.
const MOST: usize = 500;

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
        match &self.handle.agents {
            Some(agents) => agents.context.chats.posted(),
            None => watch::channel(0).1,
        }
    }

    /// The runs of this process that work for a chat.
    pub fn working(&self) -> Vec<ChatWork> {
        let agents = self.handle.agents.as_ref();
        agents.map_or_else(Vec::new, |agents| agents.context.chats.working())
    }

    /// Puts a message into the outbox; says whether it is new.
    pub async fn post(&self, post: OutboxPost, audit: Option<AuditEntry>) -> Result<bool, Error> {
        let is_new = self.store.post_outbox(post, audit).await?;
        self.handle.note_posted();
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
        self.note_posted();
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

    /// Wakes the workers of this process that deliver messages.
    fn note_posted(&self) {
        if let Some(agents) = &self.agents {
            agents.context.chats.note_posted();
        }
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

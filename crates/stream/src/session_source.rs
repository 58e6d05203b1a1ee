//! One watched session of a stream, alone or with all that it delegates to.

use std::{collections::HashMap, sync::Arc};

use futures::{FutureExt, future::BoxFuture};
use rooftree_protocol::{Event, Principal, Session, SessionId, Timestamp};
use rooftree_runtime::{Error, EventFilter, Handle, Subscription, TreeSubscription};
use rooftree_view::StreamCursor;

/// The events of one watched session.
pub(crate) struct SessionSource {
    pub(crate) root: SessionId,
    /// Which subscription of the stream it is.
    pub(crate) number: u64,
    kind: SourceKind,
}

enum SourceKind {
    One(Box<Subscription>),
    Tree(Box<TreeSubscription>),
}

/// A source and its next event.
pub(crate) type NextEvent = BoxFuture<'static, (SessionSource, Result<Arc<Event>, Error>)>;

impl SessionSource {
    /// Subscribes to a session from a cursor on. Without one, from the head of its journal on.
    pub(crate) async fn open(
        handle: &Handle,
        who: &Principal,
        session: &Session,
        cursor: &StreamCursor,
    ) -> Result<Self, Error> {
        let filter = EventFilter {
            session: session.id.clone(),
            after: cursor.after.unwrap_or(session.head),
        };
        let kind = if cursor.tree {
            let mut tree = handle.subscribe_tree(who, filter);
            if let Some(below) = &cursor.below {
                let below: HashMap<SessionId, u64> = below.clone().into_iter().collect();
                let since = cursor.since.unwrap_or(Timestamp(i64::MIN));
                tree.continue_with(below, since).await?;
            }
            tree.begin().await?;
            SourceKind::Tree(Box::new(tree))
        } else {
            SourceKind::One(Box::new(handle.subscribe(who, filter)))
        };
        Ok(Self {
            root: session.id.clone(),
            number: 0,
            kind,
        })
    }

    /// The sessions below the root that are watched now, and after which event of each.
    pub(crate) fn below(&self) -> Vec<(SessionId, u64)> {
        match &self.kind {
            SourceKind::One(_) => Vec::new(),
            SourceKind::Tree(tree) => tree
                .watched()
                .filter(|(session, _)| **session != self.root)
                .map(|(session, after)| (session.clone(), after))
                .collect(),
        }
    }

    /// Waits for the next event.
    pub(crate) fn wait(mut self) -> NextEvent {
        async move {
            let event = match &mut self.kind {
                SourceKind::One(one) => one.next().await,
                SourceKind::Tree(tree) => tree.next().await,
            };
            (self, event)
        }
        .boxed()
    }
}

/// A session that a principal may see.
pub(crate) async fn visible(
    handle: &Handle,
    who: &Principal,
    session: &SessionId,
) -> Result<Option<Session>, Error> {
    let found = handle.queries(who).session(session).await?;
    Ok(found.filter(|found| found.deleted_at.is_none()))
}

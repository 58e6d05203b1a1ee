//! Subscribe to all events of a runtime, to watch it from outside.

use std::sync::Arc;

use futures::{Stream, StreamExt, stream};
use rooftree_protocol::{Event, SessionId};
use rooftree_runtime::EventFilter;

use crate::{
    error::Result,
    events::{stored_events, subscription_events},
    principal::owner,
    running::SharedRuntime,
};

/// What to watch. Made by [`Runtime::events`](crate::Runtime::events).
#[must_use = "subscribe() begins to watch"]
pub struct Feed(pub(crate) SharedRuntime);

impl Feed {
    /// Only one session, and from the beginning of its journal.
    pub fn session(self, id: &SessionId) -> SessionFeed {
        SessionFeed {
            runtime: self.0,
            session: id.clone(),
            after: 0,
        }
    }

    /// Subscribes to all sessions of this runtime, from now on, until it stops. Unread events are buffered in
    /// memory without a limit: read on, or drop the stream.
    pub fn subscribe(self) -> impl Stream<Item = Event> + Send + Unpin {
        let events = self.0.readers().subscribe();
        let events = stream::unfold(events, |mut events| async {
            let event = events.recv().await?;
            Some((Arc::unwrap_or_clone(event), events))
        });
        Box::pin(events)
    }
}

/// One session to watch: first what its journal holds, then what happens. Durable events come in
/// order and without a gap, also those of other processes.
#[must_use = "subscribe() begins to watch"]
pub struct SessionFeed {
    runtime: SharedRuntime,
    session: SessionId,
    after: u64,
}

impl SessionFeed {
    /// Only events after this number.
    pub fn since(mut self, id: u64) -> Self {
        self.after = id;
        self
    }

    /// What the journal holds now.
    pub async fn stored(self) -> Result<Vec<Event>> {
        stored_events(self.runtime.handle(), &self.session, self.after).await
    }

    /// Begins to watch. Ends only with an error, or by being dropped.
    pub fn subscribe(self) -> impl Stream<Item = Result<Event>> + Send + Unpin {
        let filter = EventFilter {
            session: self.session,
            after: self.after,
        };
        let events = subscription_events(self.runtime.handle().subscribe(&owner(), filter));
        Box::pin(events.map(|heard| Ok(Arc::unwrap_or_clone(heard?))))
    }
}

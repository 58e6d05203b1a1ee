//! The open streams: counts them by token, and passes changes to one by its name.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use rooftree_protocol::Principal;
use rooftree_view::StreamPatch;
use tokio::sync::mpsc;

use super::{LIMITS, MAX_STREAMS, counted_by};
use crate::api::ApiProblem;

/// Changes that may wait for a stream.
const CHANGES: usize = 16;

/// All open streams of a server. Cheap to clone.
#[derive(Clone)]
pub(crate) struct StreamRegistry {
    table: Arc<Mutex<StreamTable>>,
    boot: Arc<str>,
}

#[derive(Default)]
struct StreamTable {
    next: u64,
    streams: HashMap<String, StreamEntry>,
}

struct StreamEntry {
    owner: String,
    changes: mpsc::Sender<StreamPatch>,
}

/// The place of a stream in the registry, until it is dropped.
pub(super) struct StreamPlace {
    registry: StreamRegistry,
    pub(super) name: String,
}

impl StreamRegistry {
    /// With the name of the server's start.
    pub(crate) fn new(boot: &str) -> Self {
        Self {
            table: Arc::default(),
            boot: boot.into(),
        }
    }

    /// The name of the server's start.
    pub(crate) fn boot(&self) -> &str {
        &self.boot
    }

    fn table(&self) -> MutexGuard<'_, StreamTable> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a new stream, if there is room for it.
    pub(super) fn admit(
        &self,
        who: &Principal,
    ) -> Result<(StreamPlace, mpsc::Receiver<StreamPatch>), ApiProblem> {
        let owner = counted_by(who);
        let mut table = self.table();
        let own = table.streams.values().filter(|entry| entry.owner == owner);
        if own.count() >= LIMITS.streams {
            let message = format!("this token has {} open streams, the limit", LIMITS.streams);
            return Err(ApiProblem::busy(message));
        }
        if table.streams.len() >= MAX_STREAMS {
            let message = format!("the server has {MAX_STREAMS} open streams, the limit");
            return Err(ApiProblem::busy(message));
        }
        table.next += 1;
        let name = format!("str_{}{}", self.boot, table.next);
        let (tx, changes) = mpsc::channel(CHANGES);
        let entry = StreamEntry { owner, changes: tx };
        table.streams.insert(name.clone(), entry);
        let registry = self.clone();
        Ok((StreamPlace { registry, name }, changes))
    }

    /// Passes a change to a stream of the same principal; says whether there is one that takes it.
    pub(super) fn change(&self, who: &Principal, name: &str, patch: StreamPatch) -> bool {
        let table = self.table();
        let entry = table.streams.get(name);
        let entry = entry.filter(|entry| entry.owner == counted_by(who));
        entry.is_some_and(|entry| entry.changes.try_send(patch).is_ok())
    }
}

impl Drop for StreamPlace {
    fn drop(&mut self) {
        self.registry.table().streams.remove(&self.name);
    }
}

//! Registry of the connectors at work in this process, by the names that chat targets have.

use std::{
    collections::BTreeMap,
    sync::{PoisonError, RwLock},
};

use rooftree_connectors::SharedConnector;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

/// What to do with a part that may or may not have arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UnknownDeliveryPolicy {
    /// Send it again with a label that says so.
    #[default]
    Resend,
    /// Do not send it; a person has it retried or dropped.
    Ask,
    /// Do not send it, and go on with the next part.
    GiveUp,
}

/// A connector at work.
#[derive(Clone)]
pub struct RegisteredConnector {
    /// Its client.
    pub connector: SharedConnector,
    /// What to do with a part that may or may not have arrived.
    pub unknown: UnknownDeliveryPolicy,
}

impl RegisteredConnector {
    /// Whether it is the same client with the same policy.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        std::sync::Arc::ptr_eq(&self.connector, &other.connector) && self.unknown == other.unknown
    }
}

/// The connectors at work in this process. They come and go while it runs.
pub struct ConnectorRegistry {
    connectors: RwLock<BTreeMap<String, RegisteredConnector>>,
    changed: watch::Sender<u64>,
}

impl Default for ConnectorRegistry {
    fn default() -> Self {
        Self {
            connectors: RwLock::default(),
            changed: watch::channel(0).0,
        }
    }
}

impl ConnectorRegistry {
    /// Adds a connector, or replaces the one of this name.
    pub fn insert(&self, name: impl Into<String>, connector: RegisteredConnector) {
        let mut connectors = self
            .connectors
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        connectors.insert(name.into(), connector);
        drop(connectors);
        self.changed.send_modify(|count| *count += 1);
    }

    /// Takes a connector away.
    pub fn remove(&self, name: &str) {
        let mut connectors = self
            .connectors
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        connectors.remove(name);
        drop(connectors);
        self.changed.send_modify(|count| *count += 1);
    }

    /// The connector of this name.
    pub fn find(&self, name: &str) -> Option<RegisteredConnector> {
        let connectors = self
            .connectors
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        connectors.get(name).cloned()
    }

    /// Their names, in order.
    pub fn names(&self) -> Vec<String> {
        let connectors = self
            .connectors
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        connectors.keys().cloned().collect()
    }

    /// Fires when a connector was added or taken away.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }
}

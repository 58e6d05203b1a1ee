//! Implements [`ConnectorStore`] for [`SqliteStore`]: each method is one read or one queued write.

use rooftree_protocol::Timestamp;

use super::{
    SqliteStore,
    connectors::{self, bindings, identities, inbound_keys, pairings},
    inbox::EncodedPost,
};
use crate::{
    AuditEntry, ChatBinding, ChatBindingWrite, ChatIdentity, ConnectorHealth, ConnectorRow,
    ConnectorStore, ConnectorWrite, ConnectorWriteOutcome, InboundKey, InboxPost, PairingBounds,
    PairingOffer, PairingRow, PairingUse, Pending, PostReceipt,
};

impl ConnectorStore for SqliteStore {
    fn write_connector(&self, write: ConnectorWrite) -> Pending<ConnectorWriteOutcome> {
        self.write(move |connection| connectors::write(connection, &write))
    }

    fn connectors(&self, tenant: &str) -> Pending<Vec<ConnectorRow>> {
        let tenant = tenant.to_owned();
        self.read(move |connection| connectors::list(connection, &tenant))
    }

    fn note_connector_health(
        &self,
        tenant: &str,
        name: &str,
        health: ConnectorHealth,
    ) -> Pending<()> {
        let (tenant, name) = (tenant.to_owned(), name.to_owned());
        self.write(move |connection| connectors::note_health(connection, &tenant, &name, &health))
    }

    fn keep_connector_cursor(&self, tenant: &str, name: &str, cursor: String) -> Pending<()> {
        let (tenant, name) = (tenant.to_owned(), name.to_owned());
        self.write(move |connection| connectors::keep_cursor(connection, &tenant, &name, &cursor))
    }

    fn put_chat_identity(&self, identity: ChatIdentity, audit: Option<AuditEntry>) -> Pending<()> {
        self.write(move |connection| identities::put(connection, &identity, audit.as_ref()))
    }

    fn remove_chat_identity(
        &self,
        tenant: &str,
        connector: &str,
        sender: &str,
        audit: Option<AuditEntry>,
    ) -> Pending<bool> {
        let names = (tenant.to_owned(), connector.to_owned(), sender.to_owned());
        self.write(move |connection| {
            let names = (names.0.as_str(), names.1.as_str(), names.2.as_str());
            identities::remove(connection, names, audit.as_ref())
        })
    }

    fn chat_identities(&self, tenant: &str, connector: &str) -> Pending<Vec<ChatIdentity>> {
        let (tenant, connector) = (tenant.to_owned(), connector.to_owned());
        self.read(move |connection| identities::list(connection, &tenant, &connector))
    }

    fn chat_identity(
        &self,
        tenant: &str,
        connector: &str,
        sender: &str,
    ) -> Pending<Option<ChatIdentity>> {
        let names = (tenant.to_owned(), connector.to_owned(), sender.to_owned());
        self.read(move |connection| identities::one(connection, &names.0, &names.1, &names.2))
    }

    fn offer_pairing(
        &self,
        offer: PairingRow,
        bounds: PairingBounds,
        audit: Option<AuditEntry>,
    ) -> Pending<PairingOffer> {
        self.write(move |connection| pairings::offer(connection, &offer, bounds, audit.as_ref()))
    }

    fn pairings(&self, tenant: &str, connector: &str, now: Timestamp) -> Pending<Vec<PairingRow>> {
        let (tenant, connector) = (tenant.to_owned(), connector.to_owned());
        self.read(move |connection| pairings::list(connection, &tenant, &connector, now))
    }

    fn use_pairing(&self, used: PairingUse, bounds: PairingBounds) -> Pending<bool> {
        self.write(move |connection| pairings::use_one(connection, &used, bounds))
    }

    fn bind_chat(&self, write: ChatBindingWrite) -> Pending<ChatBinding> {
        self.write(move |connection| bindings::put(connection, &write))
    }

    fn chat_binding(&self, tenant: &str, key: &str) -> Pending<Option<ChatBinding>> {
        let (tenant, key) = (tenant.to_owned(), key.to_owned());
        self.read(move |connection| bindings::one(connection, &tenant, &key))
    }

    fn post_inbound(&self, post: InboxPost, keys: Vec<InboundKey>) -> Pending<PostReceipt> {
        match EncodedPost::encode(post) {
            Ok(letter) => {
                self.write(move |connection| inbound_keys::post(connection, &letter, &keys))
            }
            Err(error) => Pending::ready(Err(error)),
        }
    }

    fn note_inbound(&self, keys: Vec<InboundKey>, now: Timestamp) -> Pending<()> {
        self.write(move |connection| {
            inbound_keys::expire(connection, now)?;
            inbound_keys::put(connection, &keys)
        })
    }

    fn is_inbound_known(&self, tenant: &str, connector: &str, key: &str) -> Pending<bool> {
        let names = (tenant.to_owned(), connector.to_owned(), key.to_owned());
        self.read(move |connection| {
            inbound_keys::is_known(connection, &names.0, &names.1, &names.2)
        })
    }
}

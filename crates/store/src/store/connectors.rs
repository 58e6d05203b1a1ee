//! Connectors, identities of their senders, pairing codes, chat bindings and inbound keys. Part of [`Store`](crate::Store).

use rooftree_protocol::Timestamp;

use crate::{
    AuditEntry, ChatBinding, ChatBindingWrite, ChatIdentity, ConnectorHealth, ConnectorRow,
    ConnectorWrite, ConnectorWriteOutcome, InboundKey, InboxPost, PairingBounds, PairingOffer,
    PairingRow, PairingUse, Pending, PostReceipt,
};

/// Connectors, identities of their senders, pairing codes, chat bindings and inbound keys. Every change that a person
/// makes is one transaction with its entry of the audit log.
pub trait ConnectorStore: Send + Sync {
    /// Adds, changes or removes a connector, if it has the revision that is expected. Removing one removes the
    /// identities, pairing codes, bindings and inbound keys of it too.
    fn write_connector(&self, write: ConnectorWrite) -> Pending<ConnectorWriteOutcome>;

    /// The connectors of a tenant, by name.
    fn connectors(&self, tenant: &str) -> Pending<Vec<ConnectorRow>>;

    /// Keeps how a connector is. It is no change of its revision.
    fn note_connector_health(
        &self,
        tenant: &str,
        name: &str,
        health: ConnectorHealth,
    ) -> Pending<()>;

    /// Keeps where receiving goes on after a restart. It is no change of its revision.
    fn keep_connector_cursor(&self, tenant: &str, name: &str, cursor: String) -> Pending<()>;

    /// Adds or changes an identity. Refused if the connector or the person is not there, or he is disabled.
    fn put_chat_identity(&self, identity: ChatIdentity, audit: Option<AuditEntry>) -> Pending<()>;

    /// Removes an identity; says whether it was there.
    fn remove_chat_identity(
        &self,
        tenant: &str,
        connector: &str,
        sender: &str,
        audit: Option<AuditEntry>,
    ) -> Pending<bool>;

    /// The identities of a connector, by sender.
    fn chat_identities(&self, tenant: &str, connector: &str) -> Pending<Vec<ChatIdentity>>;

    /// Who a sender is; none if he is not paired or his person is disabled.
    fn chat_identity(
        &self,
        tenant: &str,
        connector: &str,
        sender: &str,
    ) -> Pending<Option<ChatIdentity>>;

    /// Keeps a pairing code, within bounds. Codes that are over at its time are deleted.
    fn offer_pairing(
        &self,
        offer: PairingRow,
        bounds: PairingBounds,
        audit: Option<AuditEntry>,
    ) -> Pending<PairingOffer>;

    /// Pairing codes of a connector that are not over, the oldest first.
    fn pairings(&self, tenant: &str, connector: &str, now: Timestamp) -> Pending<Vec<PairingRow>>;

    /// Uses a code once: keeps the identity and deletes the code. Says whether there was such a code, not over at the
    /// time of the identity, and given to the same. If not, every code for anyone counts one more try, and is
    /// deleted after the last one.
    fn use_pairing(&self, used: PairingUse, bounds: PairingBounds) -> Pending<bool>;

    /// Binds a chat to a session, unless what arrived and wants it is known; gives the binding there is then.
    fn bind_chat(&self, write: ChatBindingWrite) -> Pending<ChatBinding>;

    /// The session a chat was bound to.
    fn chat_binding(&self, tenant: &str, key: &str) -> Pending<Option<ChatBinding>>;

    /// Puts a message into an inbox as `post_to_living` does, and keeps the keys of what arrived for it, in one commit.
    fn post_inbound(&self, post: InboxPost, keys: Vec<InboundKey>) -> Pending<PostReceipt>;

    /// Keeps the keys of what arrived and needs nothing more. Keys that are over at `now` are deleted.
    fn note_inbound(&self, keys: Vec<InboundKey>, now: Timestamp) -> Pending<()>;

    /// Whether something with this key arrived and was taken. Its time does not count: a key that is kept is known.
    fn is_inbound_known(&self, tenant: &str, connector: &str, key: &str) -> Pending<bool>;
}

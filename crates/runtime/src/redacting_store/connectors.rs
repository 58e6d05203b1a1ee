//! Redacts secrets in rows of connectors: settings, names that platforms show, and keys of what arrives.

use rooftree_protocol::{Timestamp, text_visitor};
use rooftree_store::{
    AuditEntry, ChatBinding, ChatBindingWrite, ChatIdentity, ConnectorHealth, ConnectorRow,
    ConnectorStore, ConnectorWrite, ConnectorWriteOutcome, InboundKey, InboxPost, PairingBounds,
    PairingOffer, PairingRow, PairingUse, Pending, PostReceipt,
};

use super::RedactingStore;

impl RedactingStore {
    fn identity_cleaned(&self, mut identity: ChatIdentity) -> ChatIdentity {
        self.text(&mut identity.name);
        identity
    }

    /// The same key is always redacted the same, so what arrives again is still found.
    fn inbound_cleaned(&self, mut key: InboundKey) -> InboundKey {
        self.text(&mut key.key);
        key
    }

    fn keys_cleaned(&self, keys: Vec<InboundKey>) -> Vec<InboundKey> {
        let keys = keys.into_iter();
        keys.map(|key| self.inbound_cleaned(key)).collect()
    }
}

impl ConnectorStore for RedactingStore {
    fn write_connector(&self, mut write: ConnectorWrite) -> Pending<ConnectorWriteOutcome> {
        if let Some(fields) = &mut write.fields {
            text_visitor::map(&mut fields.settings, &|text| self.secrets.clean(text));
        }
        self.secrets.clean_principal(&mut write.by);
        write.audit = self.some_audit_cleaned(write.audit);
        self.store.write_connector(write)
    }

    fn connectors(&self, tenant: &str) -> Pending<Vec<ConnectorRow>> {
        self.store.connectors(tenant)
    }

    fn note_connector_health(
        &self,
        tenant: &str,
        name: &str,
        mut health: ConnectorHealth,
    ) -> Pending<()> {
        text_visitor::optional(&mut health.reason, &|text| self.secrets.clean(text));
        text_visitor::optional(&mut health.last_error, &|text| self.secrets.clean(text));
        self.store.note_connector_health(tenant, name, health)
    }

    /// A cursor with a secret in it is of no use afterwards: that is the lesser evil.
    fn keep_connector_cursor(&self, tenant: &str, name: &str, mut cursor: String) -> Pending<()> {
        self.text(&mut cursor);
        self.store.keep_connector_cursor(tenant, name, cursor)
    }

    fn put_chat_identity(&self, identity: ChatIdentity, audit: Option<AuditEntry>) -> Pending<()> {
        let audit = self.some_audit_cleaned(audit);
        self.store
            .put_chat_identity(self.identity_cleaned(identity), audit)
    }

    fn remove_chat_identity(
        &self,
        tenant: &str,
        connector: &str,
        sender: &str,
        audit: Option<AuditEntry>,
    ) -> Pending<bool> {
        let audit = self.some_audit_cleaned(audit);
        self.store
            .remove_chat_identity(tenant, connector, sender, audit)
    }

    fn chat_identities(&self, tenant: &str, connector: &str) -> Pending<Vec<ChatIdentity>> {
        self.store.chat_identities(tenant, connector)
    }

    fn chat_identity(
        &self,
        tenant: &str,
        connector: &str,
        sender: &str,
    ) -> Pending<Option<ChatIdentity>> {
        self.store.chat_identity(tenant, connector, sender)
    }

    fn offer_pairing(
        &self,
        mut offer: PairingRow,
        bounds: PairingBounds,
        audit: Option<AuditEntry>,
    ) -> Pending<PairingOffer> {
        self.text(&mut offer.name);
        let audit = self.some_audit_cleaned(audit);
        self.store.offer_pairing(offer, bounds, audit)
    }

    fn pairings(&self, tenant: &str, connector: &str, now: Timestamp) -> Pending<Vec<PairingRow>> {
        self.store.pairings(tenant, connector, now)
    }

    fn use_pairing(&self, used: PairingUse, bounds: PairingBounds) -> Pending<bool> {
        let used = PairingUse {
            identity: self.identity_cleaned(used.identity),
            audit: self.some_audit_cleaned(used.audit),
            ..used
        };
        self.store.use_pairing(used, bounds)
    }

    fn bind_chat(&self, mut write: ChatBindingWrite) -> Pending<ChatBinding> {
        write.inbound = self.inbound_cleaned(write.inbound);
        write.audit = self.some_audit_cleaned(write.audit);
        self.store.bind_chat(write)
    }

    fn chat_binding(&self, tenant: &str, key: &str) -> Pending<Option<ChatBinding>> {
        self.store.chat_binding(tenant, key)
    }

    fn post_inbound(&self, post: InboxPost, keys: Vec<InboundKey>) -> Pending<PostReceipt> {
        self.store
            .post_inbound(self.post_cleaned(post), self.keys_cleaned(keys))
    }

    fn note_inbound(&self, keys: Vec<InboundKey>, now: Timestamp) -> Pending<()> {
        self.store.note_inbound(self.keys_cleaned(keys), now)
    }

    fn is_inbound_known(&self, tenant: &str, connector: &str, key: &str) -> Pending<bool> {
        let mut key = key.to_owned();
        self.text(&mut key);
        self.store.is_inbound_known(tenant, connector, &key)
    }
}

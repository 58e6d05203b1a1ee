//! The outbox behind the redacting store: texts of messages to chats, of their parts and of failures are redacted.

use rooftree_protocol::{RunId, Timestamp, text_visitor};
use rooftree_store::{
    AuditEntry, OutboxBody, OutboxCounts, OutboxFailure, OutboxFilter, OutboxHeads, OutboxPart,
    OutboxPost, OutboxRow, OutboxState, OutboxStore, OutboxWish, Owner, PartReceipt, Pending,
    WorkerClaim, WorkerClaimOutcome, WorkerStore,
};
use serde_json::{Map, Value};

use super::RedactingStore;

impl RedactingStore {
    /// Files stay as they are: a blob is named by what is in it, so it was cleaned before.
    pub(super) fn message_cleaned(&self, mut post: OutboxPost) -> OutboxPost {
        match &mut post.body {
            OutboxBody::Text { text }
            | OutboxBody::Inquiry { text, .. }
            | OutboxBody::Outcome { text, .. } => self.text(text),
            OutboxBody::File { name, caption, .. } => {
                self.text(name);
                self.text(caption);
            }
        }
        post
    }

    /// A part is JSON of its connector: its texts are redacted one by one, so that it stays JSON.
    fn part_cleaned(&self, body: String) -> String {
        let Ok(value) = serde_json::from_str::<Value>(&body) else {
            return self.secrets.clean(&body).unwrap_or(body);
        };
        let mut whole = Map::from_iter([("part".to_owned(), value)]);
        text_visitor::map(&mut whole, &|text| self.secrets.clean(text));
        whole.remove("part").unwrap_or_default().to_string()
    }
}

impl OutboxStore for RedactingStore {
    fn post_outbox(&self, post: OutboxPost, audit: Option<AuditEntry>) -> Pending<bool> {
        let audit = self.some_audit_cleaned(audit);
        self.store.post_outbox(self.message_cleaned(post), audit)
    }

    fn outbox_heads(&self, connector: &str, now: Timestamp, limit: usize) -> Pending<OutboxHeads> {
        self.store.outbox_heads(connector, now, limit)
    }

    fn plan_outbox(
        &self,
        claim: &WorkerClaim,
        id: &str,
        parts: Vec<String>,
    ) -> Pending<Vec<OutboxPart>> {
        let parts = parts.into_iter().map(|part| self.part_cleaned(part));
        self.store.plan_outbox(claim, id, parts.collect())
    }

    fn begin_part(&self, claim: &WorkerClaim, id: &str, part: u32, body: String) -> Pending<bool> {
        let body = self.part_cleaned(body);
        self.store.begin_part(claim, id, part, body)
    }

    fn part_sent(&self, claim: &WorkerClaim, receipt: PartReceipt) -> Pending<()> {
        self.store.part_sent(claim, receipt)
    }

    fn part_seen(&self, receipt: PartReceipt) -> Pending<bool> {
        self.store.part_seen(receipt)
    }

    fn part_failed(&self, claim: &WorkerClaim, mut failure: OutboxFailure) -> Pending<()> {
        self.text(&mut failure.error);
        self.store.part_failed(claim, failure)
    }

    fn supersede_outbox(&self, claim: &WorkerClaim, id: &str, at: Timestamp) -> Pending<()> {
        self.store.supersede_outbox(claim, id, at)
    }

    fn change_outbox(
        &self,
        id: &str,
        wish: OutboxWish,
        at: Timestamp,
        audit: Option<AuditEntry>,
    ) -> Pending<Option<OutboxRow>> {
        let audit = self.some_audit_cleaned(audit);
        self.store.change_outbox(id, wish, at, audit)
    }

    fn outbox_row(&self, id: &str) -> Pending<Option<OutboxRow>> {
        self.store.outbox_row(id)
    }

    fn outbox_by_key(&self, key: &str) -> Pending<Option<OutboxRow>> {
        self.store.outbox_by_key(key)
    }

    fn outbox(&self, filter: OutboxFilter) -> Pending<Vec<OutboxRow>> {
        self.store.outbox(filter)
    }

    fn outbox_counts(&self, tenant: &str) -> Pending<Vec<OutboxCounts>> {
        self.store.outbox_counts(tenant)
    }

    fn outbox_of_run(&self, run: &RunId) -> Pending<Option<OutboxState>> {
        self.store.outbox_of_run(run)
    }

    fn prune_outbox(&self, before: Timestamp) -> Pending<u64> {
        self.store.prune_outbox(before)
    }
}

impl WorkerStore for RedactingStore {
    fn claim_worker(
        &self,
        name: &str,
        owner: &Owner,
        now: Timestamp,
        until: Timestamp,
    ) -> Pending<WorkerClaimOutcome> {
        self.store.claim_worker(name, owner, now, until)
    }

    fn renew_worker(&self, claim: &WorkerClaim, until: Timestamp) -> Pending<()> {
        self.store.renew_worker(claim, until)
    }

    fn release_worker(&self, claim: WorkerClaim) -> Pending<()> {
        self.store.release_worker(claim)
    }
}

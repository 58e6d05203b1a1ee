//! Implements the traits of the outbox and of worker claims for [`SqliteStore`].

use rooftree_protocol::{RunId, Timestamp};

use super::{
    SqliteStore,
    claims::ClaimRequest,
    outbox,
    outbox_delivery::{self, PartOfMessage},
    worker_claims,
    writer::Durability,
};
use crate::{
    AuditEntry, OutboxCounts, OutboxFailure, OutboxFilter, OutboxHeads, OutboxPart, OutboxPost,
    OutboxRow, OutboxState, OutboxStore, OutboxWish, Owner, PartReceipt, Pending, WorkerClaim,
    WorkerClaimOutcome, WorkerStore,
};

impl OutboxStore for SqliteStore {
    fn post_outbox(&self, post: OutboxPost, audit: Option<AuditEntry>) -> Pending<bool> {
        self.write(move |connection| outbox::post_audited(connection, &post, audit.as_ref()))
    }

    fn outbox_heads(&self, connector: &str, now: Timestamp, limit: usize) -> Pending<OutboxHeads> {
        let connector = connector.to_owned();
        self.read(move |connection| outbox_delivery::heads(connection, &connector, now, limit))
    }

    fn plan_outbox(
        &self,
        claim: &WorkerClaim,
        id: &str,
        parts: Vec<String>,
    ) -> Pending<Vec<OutboxPart>> {
        let (proof, id) = (claim.proof(), id.to_owned());
        self.write(move |connection| outbox_delivery::plan(connection, &proof, &id, &parts))
    }

    fn begin_part(&self, claim: &WorkerClaim, id: &str, part: u32, body: String) -> Pending<bool> {
        let (proof, id) = (claim.proof(), id.to_owned());
        self.write(move |connection| {
            let part = PartOfMessage { id: &id, n: part };
            outbox_delivery::begin(connection, &proof, &part, &body)
        })
    }

    fn part_sent(&self, claim: &WorkerClaim, receipt: PartReceipt) -> Pending<()> {
        let proof = claim.proof();
        self.write(move |connection| outbox_delivery::sent(connection, &proof, &receipt))
    }

    fn part_seen(&self, receipt: PartReceipt) -> Pending<bool> {
        self.write(move |connection| outbox_delivery::seen(connection, &receipt))
    }

    fn part_failed(&self, claim: &WorkerClaim, failure: OutboxFailure) -> Pending<()> {
        let proof = claim.proof();
        self.write(move |connection| outbox_delivery::failed(connection, &proof, &failure))
    }

    fn supersede_outbox(&self, claim: &WorkerClaim, id: &str, at: Timestamp) -> Pending<()> {
        let (proof, id) = (claim.proof(), id.to_owned());
        self.write(move |connection| outbox_delivery::supersede(connection, &proof, &id, at))
    }

    fn change_outbox(
        &self,
        id: &str,
        wish: OutboxWish,
        at: Timestamp,
        audit: Option<AuditEntry>,
    ) -> Pending<Option<OutboxRow>> {
        let id = id.to_owned();
        self.write(move |connection| outbox::change(connection, (&id, wish, at), audit.as_ref()))
    }

    fn outbox_row(&self, id: &str) -> Pending<Option<OutboxRow>> {
        let id = id.to_owned();
        self.read(move |connection| outbox::by_id(connection, &id))
    }

    fn outbox_by_key(&self, key: &str) -> Pending<Option<OutboxRow>> {
        let key = key.to_owned();
        self.read(move |connection| outbox::by_key(connection, &key))
    }

    fn outbox(&self, filter: OutboxFilter) -> Pending<Vec<OutboxRow>> {
        self.read(move |connection| outbox::list(connection, &filter))
    }

    fn outbox_counts(&self, tenant: &str) -> Pending<Vec<OutboxCounts>> {
        let tenant = tenant.to_owned();
        self.read(move |connection| outbox::counts(connection, &tenant))
    }

    fn outbox_of_run(&self, run: &RunId) -> Pending<Option<OutboxState>> {
        let run = run.clone();
        self.read(move |connection| outbox::of_run(connection, &run))
    }

    fn prune_outbox(&self, before: Timestamp) -> Pending<u64> {
        self.write(move |connection| outbox::prune(connection, before))
    }
}

impl WorkerStore for SqliteStore {
    fn claim_worker(
        &self,
        name: &str,
        owner: &Owner,
        now: Timestamp,
        until: Timestamp,
    ) -> Pending<WorkerClaimOutcome> {
        let (name, owner) = (name.to_owned(), owner.clone());
        self.write_for(Durability::Sight, move |connection| {
            let owner = &owner;
            worker_claims::claim(connection, &name, &ClaimRequest { owner, now, until })
        })
    }

    fn renew_worker(&self, claim: &WorkerClaim, until: Timestamp) -> Pending<()> {
        let proof = claim.proof();
        self.write_for(Durability::Sight, move |connection| {
            worker_claims::renew(connection, &proof, until)
        })
    }

    fn release_worker(&self, claim: WorkerClaim) -> Pending<()> {
        let proof = claim.proof();
        self.write_for(Durability::Sight, move |connection| {
            worker_claims::release(connection, &proof)
        })
    }
}

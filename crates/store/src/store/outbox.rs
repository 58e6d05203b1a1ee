//! The outbox: messages to chats and how far their delivery is. Part of [`Store`](crate::Store).

use rooftree_protocol::{RunId, Timestamp};

use crate::{
    AuditEntry, OutboxCounts, OutboxFailure, OutboxFilter, OutboxHeads, OutboxPart, OutboxPost,
    OutboxRow, OutboxState, OutboxWish, PartReceipt, Pending, WorkerClaim,
};

/// Messages to chats. They are stored by `append` with the events that cause them, and by `post_outbox`.
///
/// Contract. The messages to one chat and thread have an order, in which they are delivered. Storing the answer of a run
/// supersedes its status line. Storing the outcome of a question that was not sent yet supersedes both. What a worker
/// writes needs its claim, and resolves to [`Error::Fenced`](crate::Error) without it.
pub trait OutboxStore: Send + Sync {
    /// Stores a message that no commit of a session causes; says whether it is new. A status line with the same key is
    /// replaced, and delivered anew as an edit.
    fn post_outbox(&self, post: OutboxPost, audit: Option<AuditEntry>) -> Pending<bool>;

    /// Of each chat of a connector the first message that is not closed. One with a part in `sending` that this worker
    /// does not have at work was left so by a worker that died.
    fn outbox_heads(&self, connector: &str, now: Timestamp, limit: usize) -> Pending<OutboxHeads>;

    /// Keeps what a message is split into and gives it. What was planned before stays as it is.
    fn plan_outbox(
        &self,
        claim: &WorkerClaim,
        id: &str,
        parts: Vec<String>,
    ) -> Pending<Vec<OutboxPart>>;

    /// Notes, before a part is sent, that it is being sent, in this form; says whether the message is still wanted.
    fn begin_part(&self, claim: &WorkerClaim, id: &str, part: u32, body: String) -> Pending<bool>;

    /// Notes that the platform took a part; with the last one the message is sent.
    fn part_sent(&self, claim: &WorkerClaim, receipt: PartReceipt) -> Pending<()>;

    /// Notes that a part arrived whose receipt was lost: its message was named later, for instance by a person who
    /// pressed its button. Needs no claim. One that was not begun or has a receipt stays as it is; says whether it was
    /// noted.
    fn part_seen(&self, receipt: PartReceipt) -> Pending<bool>;

    /// Notes that sending a part failed, and what follows.
    fn part_failed(&self, claim: &WorkerClaim, failure: OutboxFailure) -> Pending<()>;

    /// Closes a message that needs no sending.
    fn supersede_outbox(&self, claim: &WorkerClaim, id: &str, at: Timestamp) -> Pending<()>;

    /// Does what a person wants with a message that is not sent; gives it as it is afterwards, and none if it is not
    /// there. One that is being sent, was sent or was superseded stays as it is, and that is not audited.
    fn change_outbox(
        &self,
        id: &str,
        wish: OutboxWish,
        at: Timestamp,
        audit: Option<AuditEntry>,
    ) -> Pending<Option<OutboxRow>>;

    /// One message by its id.
    fn outbox_row(&self, id: &str) -> Pending<Option<OutboxRow>>;

    /// One message by its key.
    fn outbox_by_key(&self, key: &str) -> Pending<Option<OutboxRow>>;

    /// Messages, the newest first.
    fn outbox(&self, filter: OutboxFilter) -> Pending<Vec<OutboxRow>>;

    /// How many messages of a tenant are not delivered, by connector.
    fn outbox_counts(&self, tenant: &str) -> Pending<Vec<OutboxCounts>>;

    /// How far the answer of a run is: the state of its final message, else of its last notice or file.
    fn outbox_of_run(&self, run: &RunId) -> Pending<Option<OutboxState>>;

    /// Forgets messages that were sent or superseded before this moment; says how many.
    fn prune_outbox(&self, before: Timestamp) -> Pending<u64>;
}

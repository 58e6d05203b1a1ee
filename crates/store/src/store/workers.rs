//! Claims of background workers. Part of [`Store`](crate::Store).

use rooftree_protocol::Timestamp;

use crate::{Owner, Pending, WorkerClaim, WorkerClaimOutcome};

/// Claims of background workers: of each named job, one process at a time. Like claims of sessions, they resolve as soon
/// as every other process sees them; a dead process on the same host is replaced at once, any other when its lease ends.
pub trait WorkerStore: Send + Sync {
    /// Asks for a job.
    fn claim_worker(
        &self,
        name: &str,
        owner: &Owner,
        now: Timestamp,
        until: Timestamp,
    ) -> Pending<WorkerClaimOutcome>;

    /// Keeps a claim; resolves to [`Error::Fenced`](crate::Error) if another process has it.
    fn renew_worker(&self, claim: &WorkerClaim, until: Timestamp) -> Pending<()>;

    /// Gives a claim back.
    fn release_worker(&self, claim: WorkerClaim) -> Pending<()>;
}

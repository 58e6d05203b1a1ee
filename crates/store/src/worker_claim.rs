//! Worker claim: the lock and lease that let one process do a named background job, such as polling one account.

use crate::Owner;

/// Proof that this process, and no other, does a job.
///
/// Invariant: it cannot be cloned. Writes of the job name it, and the store refuses them once another process has
/// taken over.
#[derive(Debug)]
pub struct WorkerClaim {
    pub(crate) name: String,
    pub(crate) fence: u64,
    pub(crate) token: String,
}

impl WorkerClaim {
    /// Which job.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its number: the next claim of the same job, by any process, has a higher one.
    pub fn fence(&self) -> u64 {
        self.fence
    }

    pub(crate) fn proof(&self) -> WorkerProof {
        WorkerProof {
            name: self.name.clone(),
            fence: self.fence,
            token: self.token.clone(),
        }
    }
}

/// The fields of a claim that the writer compares.
pub(crate) struct WorkerProof {
    pub(crate) name: String,
    pub(crate) fence: u64,
    pub(crate) token: String,
}

/// What came of asking for a worker claim.
#[derive(Debug)]
pub enum WorkerClaimOutcome {
    /// It is ours.
    Granted(WorkerClaim),
    /// A live process has it.
    Held(Owner),
}

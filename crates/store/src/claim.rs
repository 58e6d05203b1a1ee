//! Claim: the lock and lease that let one process work on a session; for others it is busy.

use rooftree_protocol::{Lane, Session, SessionId};
use serde::{Deserialize, Serialize};

use crate::{CommandRow, InboxItem, RuleVersion};

/// Proof that this process, and no other, works on a session.
///
/// Invariant: it cannot be cloned, and every append needs it; the store compares both the
/// number and the random token, because numbers can repeat after a failover.
#[derive(Debug)]
pub struct Claim {
    /// Which session.
    pub session: SessionId,
    pub(crate) fence: u64,
    pub(crate) token: String,
}

impl Claim {
    /// Its number: the next claim of the session, by any process, has a higher one.
    pub fn fence(&self) -> u64 {
        self.fence
    }
}

/// A process that works on sessions: enough to tell whether it is still alive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    /// Host name.
    pub host: String,
    /// The host's boot, so that process ids of an earlier boot do not count.
    pub boot: String,
    /// Process id.
    pub pid: u32,
    /// When that process started, in the kernel's ticks, so that a reused id does not count.
    pub started: u64,
}

/// What came of asking for a claim.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "made once per claim and taken apart at once"
)]
pub enum ClaimOutcome {
    /// It is ours.
    Granted(ClaimedSession),
    /// A live process holds the claim.
    Held(Owner),
}

/// A claim and what its holder needs to go on.
#[derive(Debug)]
pub struct ClaimedSession {
    /// The right itself.
    pub claim: Claim,
    /// The session as it is now.
    pub session: Session,
    /// How many claims in a row, before this one, ended without the run they worked on being settled.
    pub attempts: u32,
    /// Commands left for the session's owner, oldest first. They are handed out with this.
    pub commands: Vec<CommandRow>,
    /// Version of the saved permission rules, to tell whether the caller's copy is current.
    pub rules: RuleVersion,
    /// The first messages of each lane that are not taken, in order.
    pub waiting: [(Lane, Vec<InboxItem>); 2],
}

//! What is needed of a claim inside the writer, where the claim itself cannot go.

use rooftree_protocol::SessionId;

use crate::Claim;

/// Whose claim, and what it is compared by.
pub(crate) struct ClaimProof {
    pub(crate) session: SessionId,
    pub(crate) fence: u64,
    pub(crate) token: String,
}

impl From<&Claim> for ClaimProof {
    fn from(claim: &Claim) -> Self {
        Self {
            session: claim.session.clone(),
            fence: claim.fence,
            token: claim.token.clone(),
        }
    }
}

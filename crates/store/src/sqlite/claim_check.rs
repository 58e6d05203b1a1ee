//! The fields of a claim (session, fence, token) that the writer validates; the claim itself cannot be sent there.

use rooftree_protocol::SessionId;

use crate::Claim;

/// The session, and the fence and token that its claim is compared by.
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

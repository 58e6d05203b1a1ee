//! Access tokens of persons. Part of [`Store`](crate::Store).

use crate::{AccessTokenRow, AuditEntry, Pending, TokenHash};

/// Access tokens of persons.
pub trait AccessStore: Send + Sync {
    /// Keeps a new token.
    fn put_access_token(&self, token: AccessTokenRow, audit: Option<AuditEntry>) -> Pending<()>;

    /// The token with this digest, whether valid or not.
    fn access_token(&self, digest: TokenHash) -> Pending<Option<AccessTokenRow>>;
}

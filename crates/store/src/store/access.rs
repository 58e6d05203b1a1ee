//! Access control: tokens, persons, one-time links and idempotency keys. Part of [`Store`](crate::Store).

use rooftree_protocol::{Account, Timestamp};

use crate::{
    AccessLinkRow, AccessTokenRow, AuditEntry, IdempotencyOutcome, IdempotentRequest, Pending,
    PersonRow, StoredAnswer, TokenHash,
};

/// Access control: tokens, persons, one-time links and idempotency keys. Every change is one transaction with its entry
/// of the audit log.
pub trait AccessStore: Send + Sync {
    /// Keeps a new token. Refused if its person is not there or is disabled.
    fn put_access_token(&self, token: AccessTokenRow, audit: Option<AuditEntry>) -> Pending<()>;

    /// The token with this digest, whether valid or not. The tokens of a disabled person are revoked.
    fn access_token(&self, digest: TokenHash) -> Pending<Option<AccessTokenRow>>;

    /// The tokens of a tenant, the oldest first, revoked ones included.
    fn access_tokens(&self, tenant: &str) -> Pending<Vec<AccessTokenRow>>;

    /// Revokes a token; says whether it was good until now.
    fn revoke_access_token(
        &self,
        tenant: &str,
        id: &str,
        at: Timestamp,
        audit: Option<AuditEntry>,
    ) -> Pending<bool>;

    /// Notes when a token was presented, unless it was after `unless_after` that it was noted last.
    fn touch_access_token(&self, id: &str, at: Timestamp, unless_after: Timestamp) -> Pending<()>;

    /// Keeps a new person and the link that invites him. An id that is taken is [`Error::NameTaken`](crate::Error).
    fn put_person(
        &self,
        person: PersonRow,
        link: Option<AccessLinkRow>,
        audit: Option<AuditEntry>,
    ) -> Pending<()>;

    /// The persons of a tenant by id, disabled ones included.
    fn persons(&self, tenant: &str) -> Pending<Vec<PersonRow>>;

    /// Disables a person who is no owner, and revokes all his tokens and links; says whether he was enabled until now.
    fn disable_person(
        &self,
        account: &Account,
        at: Timestamp,
        audit: Option<AuditEntry>,
    ) -> Pending<bool>;

    /// Keeps a new one-time link. Links that expired a day before it are deleted.
    fn put_access_link(&self, link: AccessLinkRow, audit: Option<AuditEntry>) -> Pending<()>;

    /// The link with this digest, whether valid or not.
    fn access_link(&self, digest: TokenHash) -> Pending<Option<AccessLinkRow>>;

    /// Marks a link as used and keeps the device token it was exchanged for. Does neither, and says so, if the link is
    /// used or expired at `at`, or its person is disabled.
    fn exchange_access_link(
        &self,
        digest: TokenHash,
        at: Timestamp,
        token: AccessTokenRow,
        audit: Option<AuditEntry>,
    ) -> Pending<bool>;

    /// Takes an idempotency key for a request, if it is free. Keys that have expired are deleted.
    fn begin_idempotent(&self, request: IdempotentRequest) -> Pending<IdempotencyOutcome>;

    /// Keeps the answer to a request that took its key; without an answer the key is free again.
    fn end_idempotent(
        &self,
        request: IdempotentRequest,
        answer: Option<StoredAnswer>,
    ) -> Pending<()>;
}

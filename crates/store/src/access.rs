//! Access token rows: the digest of a token, whose it is, and what it may do.

use rooftree_protocol::{AccessScopes, Account, Timestamp};
use serde::Serialize;
use sha2::{Digest, Sha256};

/// An access token as it is stored. The token itself is shown once, when it is made, and is not kept.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AccessTokenRow {
    /// `tok_…`.
    pub id: String,
    /// The person it stands for.
    #[serde(flatten)]
    pub account: Account,
    /// What people call it.
    pub name: String,
    /// SHA-256 of the token.
    #[serde(skip)]
    pub digest: TokenHash,
    /// What it may do.
    pub scopes: AccessScopes,
    /// The agents it is bound to; none for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agents: Option<Vec<String>>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it ends by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// When it was revoked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revoked_at: Option<Timestamp>,
    /// When it was last presented, to within a few minutes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub used_at: Option<Timestamp>,
}

impl AccessTokenRow {
    /// Whether it is good at this time.
    pub fn is_valid_at(&self, now: Timestamp) -> bool {
        self.revoked_at.is_none() && self.expires_at.is_none_or(|end| now.0 < end.0)
    }
}

/// SHA-256 of a token. Tokens are 256 random bits, so no salt or slow hash is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenHash(pub [u8; 32]);

impl TokenHash {
    /// The digest of a token as it is presented.
    pub fn of(token: &str) -> Self {
        Self(Sha256::digest(token.as_bytes()).into())
    }
}

//! Rows of access control: tokens, persons, one-time links and idempotency keys.

use std::fmt;

use rooftree_protocol::{AccessScopes, Account, Timestamp};
use serde::{Deserialize, Serialize};
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
    /// When it was revoked, or its person disabled.
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

/// SHA-256 of a token, of a link's secret or of a request. Secrets are 256 random bits, so no salt or slow hash is
/// needed.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct TokenHash(pub [u8; 32]);

impl TokenHash {
    /// The digest of a token as it is presented.
    pub fn of(token: &str) -> Self {
        Self(Sha256::digest(token.as_bytes()).into())
    }

    /// The digest of several pieces, each with its length, so that no two lists of pieces have the same.
    pub fn of_pieces(pieces: &[&[u8]]) -> Self {
        let mut digest = Sha256::new();
        for piece in pieces {
            digest.update((piece.len() as u64).to_le_bytes());
            digest.update(piece);
        }
        Self(digest.finalize().into())
    }
}

impl fmt::Debug for TokenHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenHash(…)")
    }
}

/// A person who may use this installation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PersonRow {
    /// The tenant he belongs to, and his id in it.
    #[serde(flatten)]
    pub account: Account,
    /// What people call him.
    pub name: String,
    /// What he may be given.
    pub role: PersonRole,
    /// Since when.
    pub invited_at: Timestamp,
    /// When he was disabled; none of his tokens and links count from then on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disabled_at: Option<Timestamp>,
}

/// What a person may be given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PersonRole {
    /// Everything.
    Owner,
    /// His own sessions; never the scope `admin`.
    Member,
}

/// A one-time link: its secret is exchanged for a device token, once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessLinkRow {
    /// SHA-256 of its secret.
    pub digest: TokenHash,
    /// The person it is for.
    pub account: Account,
    /// What it was made for.
    pub purpose: LinkPurpose,
    /// What the device token may do.
    pub scopes: AccessScopes,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it ends by itself.
    pub expires_at: Timestamp,
    /// When it was used.
    pub used_at: Option<Timestamp>,
}

impl AccessLinkRow {
    /// Whether it is good at this time.
    pub fn is_valid_at(&self, now: Timestamp) -> bool {
        self.used_at.is_none() && now.0 < self.expires_at.0
    }
}

/// What a one-time link was made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LinkPurpose {
    /// Another browser of a person who is there.
    Login,
    /// The first browser of a person who was invited.
    Invitation,
}

/// A request that may be sent again: its key and the digest of what it asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdempotentRequest {
    /// Whose key it is.
    pub account: Account,
    /// The id of the access token; empty for the local owner.
    pub token: String,
    /// The key.
    pub key: String,
    /// SHA-256 of method, path and body.
    pub request: TokenHash,
    /// When the request came.
    pub at: Timestamp,
    /// A request that began before this and has no answer died with its process.
    pub abandoned_before: Timestamp,
    /// Until when the answer is kept.
    pub expires_at: Timestamp,
}

/// What a key was used for before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IdempotencyOutcome {
    /// Nothing: the request is to be carried out now.
    New,
    /// The same request, which is being carried out.
    Running,
    /// The same request: this was its answer.
    Answered(StoredAnswer),
    /// Another request.
    Other,
}

/// The answer to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredAnswer {
    /// The HTTP status.
    pub status: u16,
    /// The body.
    pub body: String,
}

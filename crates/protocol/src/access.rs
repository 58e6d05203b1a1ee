//! Access over HTTP: scopes of access tokens, and the authorised caller of a request (authentication, authorisation).

use std::{collections::BTreeSet, fmt, str::FromStr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ErrorCode, Principal, Problem, Surface};

/// One thing a token may do.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum AccessScope {
    /// Read sessions, runs, agents and usage.
    Read,
    /// Open sessions, send messages, stop runs.
    Chat,
    /// Answer permission requests and questions, change rules.
    Approve,
    /// Everything: agents, tokens, persons, the audit log.
    Admin,
    /// Read metrics, and nothing else.
    Metrics,
}

impl AccessScope {
    /// All scopes, the narrowest first.
    pub const ALL: [Self; 5] = [
        Self::Metrics,
        Self::Read,
        Self::Chat,
        Self::Approve,
        Self::Admin,
    ];

    /// The word that stands for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Chat => "chat",
            Self::Approve => "approve",
            Self::Admin => "admin",
            Self::Metrics => "metrics",
        }
    }

    /// Whether it includes another one. Invariant: `chat` never includes `approve`, so that a client that sends
    /// messages cannot approve the calls they lead to.
    pub fn includes(self, other: Self) -> bool {
        self == other
            || self == Self::Admin
            || (other == Self::Read && matches!(self, Self::Chat | Self::Approve))
    }
}

impl fmt::Display for AccessScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl FromStr for AccessScope {
    type Err = Problem;

    fn from_str(text: &str) -> Result<Self, Problem> {
        let found = Self::ALL.into_iter().find(|scope| scope.word() == text);
        found.ok_or_else(|| {
            let words = Self::ALL.map(Self::word).join(", ");
            Problem::new(
                ErrorCode::InvalidArguments,
                format!("there is no scope `{text}`"),
            )
            .fix(format!("the scopes are {words}"))
        })
    }
}

/// The scopes of a token.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct AccessScopes(BTreeSet<AccessScope>);

impl AccessScopes {
    /// Whether they allow something.
    pub fn allow(&self, needed: AccessScope) -> bool {
        self.0.iter().any(|scope| scope.includes(needed))
    }

    /// Whether they allow all that others allow.
    pub fn cover(&self, others: &Self) -> bool {
        others.0.iter().all(|scope| self.allow(*scope))
    }

    /// Each of them.
    pub fn iter(&self) -> impl Iterator<Item = AccessScope> {
        self.0.iter().copied()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl FromIterator<AccessScope> for AccessScopes {
    fn from_iter<I: IntoIterator<Item = AccessScope>>(scopes: I) -> Self {
        Self(scopes.into_iter().collect())
    }
}

/// The one who makes a request, after authentication.
#[derive(Clone, Debug, PartialEq)]
pub struct AuthorizedCaller {
    /// Who it is.
    pub principal: Principal,
    /// What it may do.
    pub scopes: AccessScopes,
}

impl AuthorizedCaller {
    /// The owner of a local installation, who may do everything.
    pub fn local_owner(surface: Surface) -> Self {
        Self {
            principal: Principal::local_owner(surface),
            scopes: [AccessScope::Admin].into_iter().collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{AccessScope::*, *};

    #[test]
    fn a_chat_token_reads_and_does_not_approve() {
        let chat: AccessScopes = [Chat].into_iter().collect();
        assert!(chat.allow(Read) && chat.allow(Chat));
        assert!(!chat.allow(Approve) && !chat.allow(Admin) && !chat.allow(Metrics));
        let admin: AccessScopes = [Admin].into_iter().collect();
        assert!(AccessScope::ALL.into_iter().all(|scope| admin.allow(scope)));
        assert!(admin.cover(&chat) && !chat.cover(&admin));
        assert!("chatt".parse::<AccessScope>().is_err());
    }
}

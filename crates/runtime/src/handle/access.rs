//! Access tokens: makes them and authenticates those who present one.

use std::sync::Arc;

use rooftree_protocol::{
    AccessScope, AccessScopes, Account, AuthorizedCaller, ErrorCode, Principal, Problem, Surface,
    Timestamp,
};
use rooftree_store::{AccessTokenRow, AuditEntry, TokenHash};

use super::Handle;
use crate::Error;

/// What every token begins with, so that scanners find leaked ones.
const PREFIX: &str = "rt_";

/// A token to be made.
#[derive(Clone, Debug)]
pub struct NewAccessToken {
    /// What people call it.
    pub name: String,
    /// The person it stands for; the maker if absent.
    pub person: Option<String>,
    /// What it may do.
    pub scopes: AccessScopes,
    /// The agents it is bound to; none for all.
    pub agents: Option<Vec<String>>,
    /// When it ends by itself.
    pub expires_at: Option<Timestamp>,
}

/// A token that was made: the only time it can be read.
#[derive(Clone, Debug)]
pub struct IssuedToken {
    /// What is stored of it.
    pub row: AccessTokenRow,
    /// The token itself.
    pub secret: String,
}

impl Handle {
    /// Makes an access token. Only the owner may.
    pub async fn create_token(
        &self,
        who: &Principal,
        new: NewAccessToken,
    ) -> Result<IssuedToken, Error> {
        if !who.is_owner() || who.agents.is_some() {
            let message = "only the owner makes access tokens";
            return Err(Problem::new(ErrorCode::ToolDenied, message).into());
        }
        if new.scopes.is_empty() {
            let words = AccessScope::ALL.map(AccessScope::word).join(", ");
            return Err(
                Problem::new(ErrorCode::InvalidArguments, "a token needs a scope")
                    .fix(format!("the scopes are {words}"))
                    .into(),
            );
        }
        let secret = self.random_token();
        let row = AccessTokenRow {
            id: format!("tok_{}", spelled(self.clock.entropy())),
            account: Account {
                tenant: who.tenant.clone(),
                person: new.person.unwrap_or_else(|| who.person.clone()),
            },
            name: new.name,
            digest: TokenHash::of(&secret),
            scopes: new.scopes,
            agents: new.agents,
            created_at: self.now(),
            expires_at: new.expires_at,
            revoked_at: None,
            used_at: None,
        };
        let audit = AuditEntry::done(who, row.created_at, "token.create", &row.id)
            .with("name", row.name.clone())
            .with(
                "scopes",
                serde_json::to_value(&row.scopes).unwrap_or_default(),
            )
            .with("person", row.account.person.clone());
        self.store
            .put_access_token(row.clone(), Some(audit))
            .await?;
        Ok(IssuedToken { row, secret })
    }

    /// Who presents a token; none if it is unknown, revoked or has expired.
    pub async fn authenticate(&self, token: &str) -> Result<Option<AuthorizedCaller>, Error> {
        let found = self.store.access_token(TokenHash::of(token)).await?;
        let now = self.now();
        let valid = found.filter(|found| found.is_valid_at(now));
        Ok(valid.map(|row| AuthorizedCaller {
            principal: Principal {
                tenant: row.account.tenant,
                person: row.account.person,
                token: Some(row.id),
                surface: Surface::Http,
                on_behalf_of: None,
                agents: row.agents.map(Arc::from),
            },
            scopes: row.scopes,
        }))
    }

    /// 256 random bits behind the prefix.
    fn random_token(&self) -> String {
        let (first, second) = (self.clock.entropy(), self.clock.entropy());
        format!("{PREFIX}{first:032x}{second:032x}")
    }
}

/// Random bits as text.
fn spelled(entropy: u128) -> String {
    format!("{entropy:032x}")
}

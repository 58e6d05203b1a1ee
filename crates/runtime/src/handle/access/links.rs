//! One-time links: a browser exchanges the secret of one for a device token.

use rooftree_protocol::{
    AccessScope, AccessScopes, Account, AuthorizedCaller, LOCAL_OWNER, Principal, Problem, Surface,
    Timestamp,
};
use rooftree_store::{AccessLinkRow, AccessTokenRow, AuditEntry, LinkPurpose, TokenHash};

use super::{IssuedToken, TOKEN_PREFIX, check_name, random_secret, require_admin, token_details};
use crate::{Error, Handle};

/// What the secret of every link begins with.
const LINK_PREFIX: &str = "rl_";
const MINUTE: i64 = 60 * 1000;
/// How long a link for another browser is good, in milliseconds.
pub(super) const LOGIN_LIFE: i64 = 60 * MINUTE;
/// How long an invitation is good, in milliseconds.
pub(super) const INVITATION_LIFE: i64 = 3 * 24 * 60 * MINUTE;
/// How long a device stays logged in, in milliseconds.
const DEVICE_LIFE: i64 = 90 * 24 * 60 * MINUTE;

/// A link to be made.
#[derive(Clone, Debug, Default)]
pub struct NewAccessLink {
    /// The person whose browser it logs in; the maker if absent.
    pub person: Option<String>,
}

/// A link that was made: the only time its secret can be read.
#[derive(Clone)]
pub struct IssuedLink {
    /// What is stored of it.
    pub row: AccessLinkRow,
    /// The secret itself.
    pub secret: String,
}

impl Handle {
    /// Makes a one-time link for another browser of a person. Only the owner may.
    pub async fn create_link(
        &self,
        maker: &AuthorizedCaller,
        new: NewAccessLink,
    ) -> Result<IssuedLink, Error> {
        require_admin(maker)?;
        let (who, at) = (&maker.principal, self.now());
        let person = new.person.unwrap_or_else(|| who.person.clone());
        if person != LOCAL_OWNER {
            self.enabled_person(who, &person).await?;
        }
        let account = Account {
            tenant: who.tenant.clone(),
            person,
        };
        let made = link(account, LinkPurpose::Login, at, LOGIN_LIFE)?;
        let audit = AuditEntry::done(who, at, "link.create", &made.row.account.person);
        self.store
            .put_access_link(made.row.clone(), Some(audit))
            .await?;
        Ok(made)
    }

    /// Exchanges the secret of a link for a device token; none if it is unknown, used or expired. Of two that present
    /// the same secret one gets a token.
    pub async fn exchange_link(
        &self,
        secret: &str,
        device: &str,
    ) -> Result<Option<IssuedToken>, Error> {
        check_name(device)?;
        let (digest, now) = (TokenHash::of(secret), self.now());
        let found = self.store.access_link(digest).await?;
        let Some(link) = found.filter(|link| link.is_valid_at(now)) else {
            return Ok(None);
        };
        let secret = random_secret(TOKEN_PREFIX)?;
        let row = AccessTokenRow {
            id: format!("tok_{:032x}", self.clock.entropy()),
            account: link.account.clone(),
            name: device.to_owned(),
            digest: TokenHash::of(&secret),
            scopes: link.scopes,
            agents: None,
            created_at: now,
            expires_at: Some(Timestamp(now.0.saturating_add(DEVICE_LIFE))),
            revoked_at: None,
            used_at: None,
        };
        let who = Principal {
            tenant: link.account.tenant,
            person: link.account.person,
            token: Some(row.id.clone()),
            ..Principal::local_owner(Surface::Http)
        };
        let audit = AuditEntry::done(&who, now, "link.exchange", &row.id);
        let audit = token_details(audit, &row);
        let exchanged = self
            .store
            .exchange_access_link(digest, now, row.clone(), Some(audit));
        let is_first = exchanged.await?;
        Ok(is_first.then_some(IssuedToken { row, secret }))
    }
}

/// A new link for a person.
pub(super) fn link(
    account: Account,
    purpose: LinkPurpose,
    at: Timestamp,
    life: i64,
) -> Result<IssuedLink, Problem> {
    let secret = random_secret(LINK_PREFIX)?;
    let row = AccessLinkRow {
        digest: TokenHash::of(&secret),
        scopes: device_scopes(&account.person),
        account,
        purpose,
        created_at: at,
        expires_at: Timestamp(at.0.saturating_add(life)),
        used_at: None,
    };
    Ok(IssuedLink { row, secret })
}

/// What a browser of a person may do. Invariant: an invited person never gets `admin`.
fn device_scopes(person: &str) -> AccessScopes {
    if person == LOCAL_OWNER {
        return [AccessScope::Admin].into_iter().collect();
    }
    let scopes = [AccessScope::Read, AccessScope::Chat, AccessScope::Approve];
    scopes.into_iter().collect()
}

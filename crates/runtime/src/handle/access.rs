//! Access tokens: makes, lists and revokes them, and authenticates those who present one.

mod idempotency;
mod links;
mod persons;

use std::sync::Arc;

use rooftree_protocol::{
    AccessScope, AccessScopes, Account, AuthorizedCaller, ErrorCode, LOCAL_OWNER, Principal,
    Problem, Surface, Timestamp,
};
use rooftree_store::{AccessTokenRow, AuditEntry, TokenHash};

pub use self::{
    idempotency::RequestKey,
    links::{IssuedLink, NewAccessLink},
    persons::InvitedPerson,
};
use super::Handle;
use crate::Error;

/// What every token begins with, so that scanners find leaked ones.
pub const TOKEN_PREFIX: &str = "rt_";
/// The use of a token is noted at most this often, in milliseconds.
const NOTED_EVERY: i64 = 5 * 60 * 1000;
/// Characters of a name that people give to a token or a person.
const NAME_CHARS: usize = 100;

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
#[derive(Clone)]
pub struct IssuedToken {
    /// What is stored of it.
    pub row: AccessTokenRow,
    /// The token itself.
    pub secret: String,
}

impl Handle {
    /// Makes an access token. Only the owner may, and no token gets more scopes or lives longer than the one it is made
    /// with.
    pub async fn create_token(
        &self,
        maker: &AuthorizedCaller,
        new: NewAccessToken,
    ) -> Result<IssuedToken, Error> {
        require_admin(maker)?;
        let who = &maker.principal;
        let person = new.person.unwrap_or_else(|| who.person.clone());
        check_name(&new.name)?;
        check_scopes(&new.scopes, maker, &person)?;
        let expires_at = self.bounded_expiry(who, new.expires_at).await?;
        if new.agents.as_ref().is_some_and(Vec::is_empty) {
            return Err(invalid("a token that is bound to agents needs the name of one").into());
        }
        if person != LOCAL_OWNER {
            self.enabled_person(who, &person).await?;
        }
        let secret = random_secret(TOKEN_PREFIX)?;
        let row = AccessTokenRow {
            id: format!("tok_{:032x}", self.clock.entropy()),
            account: Account {
                tenant: who.tenant.clone(),
                person,
            },
            name: new.name,
            digest: TokenHash::of(&secret),
            scopes: new.scopes,
            agents: new.agents,
            created_at: self.now(),
            expires_at,
            revoked_at: None,
            used_at: None,
        };
        let audit = AuditEntry::done(who, row.created_at, "token.create", &row.id);
        let audit = token_details(audit, &row);
        self.store
            .put_access_token(row.clone(), Some(audit))
            .await?;
        Ok(IssuedToken { row, secret })
    }

    /// A token that a token makes ends no later than that one.
    async fn bounded_expiry(
        &self,
        who: &Principal,
        wanted: Option<Timestamp>,
    ) -> Result<Option<Timestamp>, Error> {
        let now = self.now();
        if wanted.is_some_and(|end| end <= now) {
            return Err(invalid("the token would have expired already").into());
        }
        let Some(maker) = &who.token else {
            return Ok(wanted);
        };
        let tokens = self.store.access_tokens(&who.tenant).await?;
        let maker = tokens.into_iter().find(|token| token.id == *maker);
        let most = maker.and_then(|maker| maker.expires_at);
        match (wanted, most) {
            (Some(wanted), Some(most)) if wanted > most => {
                let problem = invalid("a token cannot live longer than the one it is made with");
                Err(problem.fix("make it with rooftree token create").into())
            }
            (wanted, most) => Ok(wanted.or(most)),
        }
    }

    /// The tokens there are: for the owner all of the tenant, else those of the person.
    pub async fn tokens(&self, who: &Principal) -> Result<Vec<AccessTokenRow>, Error> {
        let mut tokens = self.store.access_tokens(&who.tenant).await?;
        tokens.retain(|token| may_manage(who, token));
        Ok(tokens)
    }

    /// Revokes a token, named by its id, a unique end of it, or its name. The owner may revoke all, others their own.
    pub async fn revoke_token(
        &self,
        who: &Principal,
        named: &str,
    ) -> Result<AccessTokenRow, Error> {
        let tokens = self.tokens(who).await?;
        let token = one_of(tokens, named)?;
        let at = self.now();
        let audit = AuditEntry::done(who, at, "token.revoke", &token.id);
        let audit = token_details(audit, &token);
        let revoked = self
            .store
            .revoke_access_token(&who.tenant, &token.id, at, Some(audit));
        if !revoked.await? {
            let message = format!("the token {} is revoked already", token.id);
            return Err(invalid(&message).into());
        }
        Ok(AccessTokenRow {
            revoked_at: Some(at),
            ..token
        })
    }

    /// Ends the token that a principal presents himself: he logs out.
    pub async fn end_own_token(&self, who: &Principal, id: &str) -> Result<(), Error> {
        if who.token.as_deref() != Some(id) {
            return Err(invalid("only the token that was presented is ended this way").into());
        }
        let at = self.now();
        let audit = AuditEntry::done(who, at, "token.logout", id);
        let ended = self
            .store
            .revoke_access_token(&who.tenant, id, at, Some(audit));
        Ok(ended.await.map(drop)?)
    }

    /// Who presents a token; none if it is unknown, revoked or has expired. Invariant: it is looked up in the store each
    /// time, so that a revocation counts at once, also one by another process.
    pub async fn authenticate(&self, token: &str) -> Result<Option<AuthorizedCaller>, Error> {
        if !token.starts_with(TOKEN_PREFIX) {
            return Ok(None);
        }
        let found = self.store.access_token(TokenHash::of(token)).await?;
        let now = self.now();
        let Some(row) = found.filter(|found| found.is_valid_at(now)) else {
            return Ok(None);
        };
        let noted_before = Timestamp(now.0.saturating_sub(NOTED_EVERY));
        if row.used_at.is_none_or(|used| used <= noted_before) {
            let touched = self.store.touch_access_token(&row.id, now, noted_before);
            touched.detach();
        }
        Ok(Some(caller(row)))
    }
}

/// The caller a token stands for. Invariant: no one but the owner has the scope `admin`, whatever the row says.
fn caller(row: AccessTokenRow) -> AuthorizedCaller {
    let is_owner = row.account.person == LOCAL_OWNER;
    let scopes = row.scopes.iter();
    let scopes = scopes.filter(|scope| is_owner || may_be_given(*scope));
    AuthorizedCaller {
        scopes: scopes.collect(),
        principal: Principal {
            tenant: row.account.tenant,
            person: row.account.person,
            token: Some(row.id),
            surface: Surface::Http,
            on_behalf_of: None,
            agents: row.agents.map(Arc::from),
        },
    }
}

/// Whether an invited person may be given a scope.
fn may_be_given(scope: AccessScope) -> bool {
    matches!(
        scope,
        AccessScope::Read | AccessScope::Chat | AccessScope::Approve
    )
}

fn may_manage(who: &Principal, token: &AccessTokenRow) -> bool {
    let is_own = token.account.person == who.person;
    token.account.tenant == who.tenant && (who.is_unbound_owner() || (is_own && !who.is_owner()))
}

fn require_admin(maker: &AuthorizedCaller) -> Result<(), Error> {
    if maker.principal.is_unbound_owner() && maker.scopes.allow(AccessScope::Admin) {
        return Ok(());
    }
    let message = "only the owner may do this, with a token that has the scope `admin` and is bound to no agents";
    Err(Problem::new(ErrorCode::ToolDenied, message).into())
}

fn check_scopes(
    scopes: &AccessScopes,
    maker: &AuthorizedCaller,
    person: &str,
) -> Result<(), Problem> {
    let words = AccessScope::ALL.map(AccessScope::word).join(", ");
    if scopes.is_empty() {
        return Err(invalid("a token needs a scope").fix(format!("the scopes are {words}")));
    }
    if person != LOCAL_OWNER && !scopes.iter().all(may_be_given) {
        return Err(
            invalid("an invited person never gets the scopes `admin` and `metrics`")
                .fix("use read, chat and approve"),
        );
    }
    if !maker.scopes.cover(scopes) {
        let message = "a token never has more scopes than the one it is made with";
        return Err(Problem::new(ErrorCode::ToolDenied, message));
    }
    Ok(())
}

fn check_name(name: &str) -> Result<(), Problem> {
    let is_name = !name.trim().is_empty()
        && name.chars().count() <= NAME_CHARS
        && !name.contains(char::is_control);
    if is_name {
        return Ok(());
    }
    let problem = invalid("the name is empty, too long or not one line");
    Err(problem.fix(format!("use at most {NAME_CHARS} characters")))
}

fn token_details(audit: AuditEntry, row: &AccessTokenRow) -> AuditEntry {
    let scopes = serde_json::to_value(&row.scopes).unwrap_or_default();
    let audit = audit
        .with("name", row.name.clone())
        .with("scopes", scopes)
        .with("person", row.account.person.clone());
    match &row.agents {
        Some(agents) => audit.with("agents", agents.clone()),
        None => audit,
    }
}

/// The token with this id, this end of an id, or this name among those that are not revoked.
fn one_of(tokens: Vec<AccessTokenRow>, named: &str) -> Result<AccessTokenRow, Problem> {
    let is_end = |token: &AccessTokenRow| named.len() >= 4 && token.id.ends_with(named);
    let is_named = |token: &AccessTokenRow| token.revoked_at.is_none() && token.name == named;
    let mut found: Vec<AccessTokenRow> = tokens
        .into_iter()
        .filter(|token| token.id == named || is_end(token) || is_named(token))
        .collect();
    if let Some(exact) = found.iter().position(|token| token.id == named) {
        return Ok(found.swap_remove(exact));
    }
    match (found.pop(), found.is_empty()) {
        (Some(only), true) => Ok(only),
        (Some(_), false) => Err(invalid(&format!("several tokens match `{named}`"))
            .fix("use the id: rooftree token list")),
        (None, _) => Err(Problem::new(
            ErrorCode::TaskNotFound,
            format!("there is no token `{named}`"),
        )
        .fix("rooftree token list shows what there is")),
    }
}

/// 256 random bits behind a prefix. It fails where there is no randomness: a token that could be guessed is worse than
/// none.
fn random_secret(prefix: &str) -> Result<String, Problem> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|error| {
        Problem::new(ErrorCode::Internal, "this machine gives no random bytes")
            .cause(error.to_string())
            .fix("nothing was made; try again later")
    })?;
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(format!("{prefix}{digits}"))
}

fn invalid(message: &str) -> Problem {
    Problem::new(ErrorCode::InvalidArguments, message)
}

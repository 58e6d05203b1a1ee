//! Authentication of every request, for `/api/v1` and `/v1` alike: bearer tokens, login cookies, the local socket.
//!
//! Order: the Host and Origin of a request are checked first, so that a page of another site neither learns whether a token is
//! right nor locks anyone out. Then the token is looked up in the store, each time, so that a revocation counts at once.

mod cookie;
mod lockout;
mod proxy;

use std::{net::IpAddr, sync::Arc};

use axum::http::{
    HeaderMap, HeaderName, Method,
    header::{AUTHORIZATION, CONTENT_TYPE, ORIGIN},
    request::Parts,
};
use rooftree_protocol::{AccessScope, AuthorizedCaller, Principal, Problem, Surface};
use rooftree_runtime::Handle;
use rooftree_store::TokenHash;

pub(crate) use self::cookie::LoginCookie;
use self::lockout::Lockout;
pub use self::proxy::{AddressRange, TrustedProxies};
use crate::{
    auth::TokenAuth,
    host_check::{HostCheck, RefusedHost},
};

/// The header with which a page proves that it is of this server, where a browser sends no `Origin`.
const CSRF: HeaderName = HeaderName::from_static("x-rooftree-csrf");
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Who may come in, besides the tokens in the store.
#[derive(Clone, Debug, Default)]
pub struct AccessOptions {
    /// The URL under which people reach the server, behind a proxy.
    pub public_url: Option<String>,
    /// The proxies whose `X-Forwarded-*` and `Forwarded` headers count.
    pub trusted_proxies: TrustedProxies,
    /// Origins of other sites whose pages may use tokens (CORS). Cookies do not count for them.
    pub allowed_origins: Vec<String>,
}

/// Checks the access of requests.
pub(crate) struct AccessCheck {
    /// Where tokens are looked up; none if the server only receives callbacks.
    pub(crate) handle: Option<Handle>,
    chat_token: TokenAuth,
    hosts: HostCheck,
    lockout: Lockout,
    options: AccessOptions,
    pub(crate) cookie: LoginCookie,
}

/// How a request came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CredentialKind {
    /// A bearer token of the store.
    Bearer,
    /// The cookie of a browser that logged in.
    Cookie,
    /// `ROOFTREE_SERVER_TOKEN`, which is good for `/v1` alone.
    ChatToken,
    /// The Unix socket, which only this account can open.
    Socket,
}

/// What the check of a request found.
#[derive(Clone, Debug)]
pub(crate) enum AccessOutcome {
    /// No credential was presented.
    Anonymous,
    /// It may come in.
    Allowed(Box<AuthorizedCaller>, CredentialKind),
    /// A credential that is unknown, revoked or expired.
    Wrong,
    /// Too many wrong credentials came from this address; seconds until it is worth coming back.
    Locked(u16),
    /// A page of another site, or a name that is not ours.
    Foreign(RefusedHost),
    /// A cookie without proof that a page of this server sent the request.
    Forged,
    /// The store cannot be asked.
    Unavailable(Box<Problem>),
}

/// What is known about a request, in its extensions.
#[derive(Clone, Debug)]
pub(crate) struct RequestAccess {
    pub(crate) outcome: AccessOutcome,
    /// Where it comes from, for the lockout of failed logins.
    pub(crate) client: Option<IpAddr>,
}

impl AccessCheck {
    pub(crate) fn new(
        handle: Option<Handle>,
        chat_token: TokenAuth,
        hosts: &[String],
        options: AccessOptions,
        port: u16,
    ) -> Self {
        let cookie = LoginCookie::new(port, options.public_url.as_deref());
        let hosts = HostCheck::new(hosts).with_public_url(options.public_url.as_deref());
        Self {
            handle,
            chat_token,
            hosts,
            lockout: Lockout::default(),
            cookie,
            options,
        }
    }

    /// Looks at a request that came over a connection from this address; from none over the Unix socket.
    pub(crate) async fn check(&self, parts: &Parts, peer: Option<IpAddr>) -> RequestAccess {
        let Some(peer) = peer else {
            return RequestAccess {
                outcome: self.over_socket(&parts.headers),
                client: None,
            };
        };
        let proxies = &self.options.trusted_proxies;
        let client = proxies.client(peer, &parts.headers);
        let outcome = match self.check_host(parts, peer) {
            Err(refused) => AccessOutcome::Foreign(refused),
            Ok(()) => self.credential(parts, client).await,
        };
        RequestAccess {
            outcome,
            client: Some(client),
        }
    }

    /// Over the socket there is no browser: a request with the marks of one is refused, whatever relays it.
    fn over_socket(&self, headers: &HeaderMap) -> AccessOutcome {
        if headers.contains_key(ORIGIN) || headers.contains_key(FETCH_SITE) {
            return AccessOutcome::Foreign(RefusedHost::ForeignPage);
        }
        let caller = AuthorizedCaller::local_owner(Surface::Http);
        AccessOutcome::Allowed(Box::new(caller), CredentialKind::Socket)
    }

    fn check_host(&self, parts: &Parts, peer: IpAddr) -> Result<(), RefusedHost> {
        let host = self.options.trusted_proxies.host(peer, &parts.headers);
        if self.allowed_origin(&parts.headers).is_some() {
            return self.hosts.check_name(host.as_deref());
        }
        self.hosts.check(&parts.headers, host.as_deref())
    }

    /// The origin of the request, if it is one of those that are listed.
    pub(crate) fn allowed_origin<'a>(&self, headers: &'a HeaderMap) -> Option<&'a str> {
        let origin = headers.get(ORIGIN)?.to_str().ok()?;
        let mut listed = self.options.allowed_origins.iter();
        listed
            .any(|listed| listed.trim_end_matches('/').eq_ignore_ascii_case(origin))
            .then_some(origin)
    }

    async fn credential(&self, parts: &Parts, client: IpAddr) -> AccessOutcome {
        if parts.headers.contains_key(AUTHORIZATION) {
            if self.chat_token.is_authorised(&parts.headers) {
                return AccessOutcome::Allowed(Box::new(chat_caller()), CredentialKind::ChatToken);
            }
            let token = bearer(&parts.headers).unwrap_or_default();
            return self.token(token, CredentialKind::Bearer, client).await;
        }
        let Some(token) = self.cookie.read(&parts.headers) else {
            return AccessOutcome::Anonymous;
        };
        let outcome = self.token(&token, CredentialKind::Cookie, client).await;
        match outcome {
            AccessOutcome::Allowed(..) if !self.is_own_page(parts, &token) => AccessOutcome::Forged,
            other => other,
        }
    }

    async fn token(&self, token: &str, kind: CredentialKind, client: IpAddr) -> AccessOutcome {
        let digest = TokenHash::of(token);
        if let Some(seconds) = self.lockout.locked(client, Some(digest)) {
            return AccessOutcome::Locked(seconds);
        }
        let Some(handle) = &self.handle else {
            return AccessOutcome::Wrong;
        };
        match handle.authenticate(token).await {
            Ok(Some(caller)) => {
                self.lockout.succeeded(digest);
                AccessOutcome::Allowed(Box::new(caller), kind)
            }
            Ok(None) => {
                self.lockout.failed(client);
                AccessOutcome::Wrong
            }
            Err(error) => AccessOutcome::Unavailable(Box::new(error.problem())),
        }
    }

    /// Seconds for which an address is locked out of logging in.
    pub(crate) fn login_locked(&self, client: Option<IpAddr>) -> Option<u16> {
        self.lockout.locked(client?, None)
    }

    /// A device that has just logged in stays in, also if others at its address are locked out.
    pub(crate) fn login_succeeded(&self, token: &str) {
        self.lockout.succeeded(TokenHash::of(token));
    }

    /// Counts a login that failed.
    pub(crate) fn login_failed(&self, client: Option<IpAddr>) {
        if let Some(client) = client {
            self.lockout.failed(client);
        }
    }

    /// Whether a request with a cookie is one of our own page, as far as it could change something. Invariant: a
    /// browser sends the cookie for every page that asks, so the cookie alone never changes anything.
    fn is_own_page(&self, parts: &Parts, token: &str) -> bool {
        let headers = &parts.headers;
        // A page of a listed origin uses tokens, never the cookie of the person who looks at it.
        if self.allowed_origin(headers).is_some() {
            return false;
        }
        if matches!(parts.method, Method::GET | Method::HEAD) {
            return true;
        }
        let is_json = parts.method == Method::DELETE || has_json(headers);
        // The check of the host has refused every other origin.
        let has_origin = headers.contains_key(ORIGIN);
        let site = headers.get(FETCH_SITE);
        let is_same_site = site.is_some_and(|site| site.as_bytes() == b"same-origin");
        let shown = headers.get(CSRF).map(|shown| shown.as_bytes());
        let is_proven = shown.is_some_and(|shown| shown == csrf_token(token).as_bytes());
        is_json && (has_origin || is_same_site || is_proven)
    }

    /// What a page with this request's cookie proves itself with; none without a cookie.
    pub(crate) fn csrf(&self, headers: &HeaderMap) -> Option<String> {
        self.cookie.read(headers).map(|token| csrf_token(&token))
    }
}

/// The caller with `ROOFTREE_SERVER_TOKEN`: it asks agents for the owner, and does nothing else.
fn chat_caller() -> AuthorizedCaller {
    AuthorizedCaller {
        principal: Principal {
            token: Some("ROOFTREE_SERVER_TOKEN".into()),
            ..Principal::local_owner(Surface::Http)
        },
        scopes: [AccessScope::Chat].into_iter().collect(),
    }
}

/// It follows from the token in the cookie, which no page can read, and tells nothing about it.
fn csrf_token(token: &str) -> String {
    let digest = TokenHash::of_pieces(&[b"rooftree csrf", token.as_bytes()]);
    digest.0.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn has_json(headers: &HeaderMap) -> bool {
    let kind = headers
        .get(CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok());
    let kind = kind.and_then(|kind| kind.split(';').next());
    kind.is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let value = values.next()?.to_str().ok()?;
    if values.next().is_some() {
        return None;
    }
    let (scheme, token) = value.split_once(' ')?;
    scheme
        .eq_ignore_ascii_case("bearer")
        .then_some(token.trim())
}

/// The token that a connection counts for.
pub(crate) fn connection_key(outcome: &AccessOutcome) -> Option<Arc<str>> {
    match outcome {
        AccessOutcome::Allowed(caller, _) => {
            let token = caller.principal.token.as_deref();
            Some(Arc::from(token.unwrap_or("local")))
        }
        _ => None,
    }
}

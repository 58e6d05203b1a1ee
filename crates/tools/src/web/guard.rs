//! Network guard (SSRF protection): decides which URLs may be reached, and resolves the addresses that are connected
//! to.
//!
//! Invariant: a connection goes to an address that was judged here. Names are resolved once, all
//! their addresses are judged, and the connection is made to these without resolving again, so a
//! name that changes its addresses in between gains nothing.

use std::net::{IpAddr, SocketAddr};

pub use super::error::WebError;
use super::{
    HostResolver, PrivateHost, WebConfig,
    address::{AddressClass, reach},
    target::{UrlHost, UrlTarget},
};

/// Ports of web servers. Other ports belong to databases, mail and the like.
const PORTS: [u16; 4] = [80, 443, 8080, 8443];

/// Names of metadata services. No setting can allow them.
const METADATA: [&str; 8] = [
    "instance-data",
    "instance-data.ec2.internal",
    "metadata",
    "metadata.azure.internal",
    "metadata.goog",
    "metadata.google.internal",
    "metadata.platformequinix.com",
    "metadata.tencentyun.com",
];

/// Suffixes of host names in private networks.
const OWN: [&str; 12] = [
    "localhost",
    "local",
    "localdomain",
    "internal",
    "intranet",
    "lan",
    "home",
    "corp",
    "private",
    "svc",
    "home.arpa",
    "onion",
];

/// Decides which hosts and addresses may be reached.
#[derive(Clone)]
pub struct NetworkGuard {
    exceptions: Vec<PrivateHost>,
    resolver: HostResolver,
}

/// A URL that may be reached, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdmittedUrl {
    pub(crate) target: UrlTarget,
    /// The addresses a connection may go to.
    pub addresses: Vec<SocketAddr>,
}

impl AdmittedUrl {
    /// The host as rules know it.
    pub fn host(&self) -> &str {
        self.target.host()
    }
}

impl NetworkGuard {
    /// The guard these settings ask for.
    pub fn new(web: &WebConfig) -> Self {
        Self {
            exceptions: web.allow_private.clone(),
            resolver: web.resolver.clone(),
        }
    }

    /// Judges a URL and finds its addresses.
    pub async fn admit(&self, url: &str) -> Result<AdmittedUrl, WebError> {
        self.admit_target(self.read(url)?).await
    }

    /// The same for a URL that was read before.
    pub(crate) async fn admit_target(&self, target: UrlTarget) -> Result<AdmittedUrl, WebError> {
        self.judge(&target)?;
        let addresses = match target.place() {
            UrlHost::Address(address) => vec![*address],
            UrlHost::Name(name) => self.addresses(name, &target).await?,
        };
        let addresses = addresses
            .into_iter()
            .map(|address| SocketAddr::new(address, target.port()));
        Ok(AdmittedUrl {
            addresses: addresses.collect(),
            target,
        })
    }

    /// Parses a URL and judges it as far as possible without resolving its name.
    pub(crate) fn read(&self, url: &str) -> Result<UrlTarget, WebError> {
        let target = UrlTarget::parse(url)?;
        self.judge(&target)?;
        Ok(target)
    }

    fn judge(&self, target: &UrlTarget) -> Result<(), WebError> {
        let is_allowed = self.allows(target);
        match target.place() {
            UrlHost::Address(address) => self.judge_address(*address, target)?,
            UrlHost::Name(name) if METADATA.contains(&name.as_str()) => {
                return Err(never(
                    target,
                    "a metadata service that hands out credentials",
                ));
            }
            UrlHost::Name(name) if !is_allowed && is_own(name) => {
                return Err(private(target, "a name of your own network"));
            }
            UrlHost::Name(_) => {}
        }
        if is_allowed || PORTS.contains(&target.port()) {
            return Ok(());
        }
        let (host, port) = (target.host(), target.port());
        Err(WebError::forbidden(format!(
            "Port {port} is not one of {PORTS:?}, where web servers are. {}",
            way_out(&format!("{host}:{port}"))
        )))
    }

    async fn addresses(&self, name: &str, target: &UrlTarget) -> Result<Vec<IpAddr>, WebError> {
        let found = (self.resolver)(name.to_owned()).await.map_err(|error| {
            WebError::failed(format!(
                "{name} cannot be found: {error}. Check the spelling of the host."
            ))
        })?;
        if found.is_empty() {
            return Err(WebError::failed(format!(
                "{name} has no address. Check the spelling of the host."
            )));
        }
        // One bad address is enough: which of them a connection takes is not ours to choose.
        found
            .iter()
            .try_for_each(|address| self.judge_address(*address, target))?;
        Ok(found)
    }

    fn judge_address(&self, address: IpAddr, target: &UrlTarget) -> Result<(), WebError> {
        match reach(address) {
            AddressClass::Public => Ok(()),
            AddressClass::Private(_) if self.allows(target) => Ok(()),
            AddressClass::Private(what) => Err(private(target, &format!("{address}, {what}"))),
            AddressClass::Never(what) => Err(never(target, &format!("{address}, {what}"))),
        }
    }

    /// Whether the user has allowed this private host.
    pub(crate) fn allows(&self, target: &UrlTarget) -> bool {
        self.exceptions
            .iter()
            .any(|exception| exception.covers(target))
    }
}

/// Whether anything can be made of these bytes that passes without a resolver. For fuzzing: it
/// must never panic, and a second reading of what passes must give the same.
pub fn passes(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return false;
    };
    let guard = NetworkGuard::new(&WebConfig::default());
    guard
        .read(text)
        .is_ok_and(|target| guard.read(target.url().as_str()).as_ref() == Ok(&target))
}

fn is_own(name: &str) -> bool {
    let ends_in = |end: &&str| {
        name.strip_suffix(*end)
            .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    };
    !name.contains('.') || OWN.iter().any(ends_in)
}

fn private(target: &UrlTarget, what: &str) -> WebError {
    let (host, port) = (target.host(), target.port());
    WebError::forbidden(format!(
        "{host} is not public: it is {what}. {}",
        way_out(&format!("{host}:{port}"))
    ))
}

fn never(target: &UrlTarget, what: &str) -> WebError {
    WebError::forbidden(format!("{} is never reached: it is {what}.", target.host()))
}

fn way_out(place: &str) -> String {
    format!("The user can allow it in config.toml: [web] allow_private = [\"{place}\"].")
}

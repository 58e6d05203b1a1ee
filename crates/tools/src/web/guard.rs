//! Decides which URLs may be reached, and finds the addresses that are then connected to.
//!
//! Invariant: a connection goes to an address that was judged here. Names are resolved once, all
//! their addresses are judged, and the connection is made to these without resolving again, so a
//! name that changes its addresses in between gains nothing.

use std::net::{IpAddr, SocketAddr};

pub use super::refusal::Refusal;
use super::{
    Exception, Resolver, Web,
    address::{Reach, reach},
    target::{Place, Target},
};

/// Where web servers are. Any other port is somebody's database or mail.
const PORTS: [u16; 4] = [80, 443, 8080, 8443];

/// Names of metadata services. Nobody can allow them.
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

/// What names of one's own network end in.
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

/// Who may be reached.
#[derive(Clone)]
pub struct Guard {
    exceptions: Vec<Exception>,
    resolver: Resolver,
}

/// A URL that may be reached, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Admitted {
    pub(crate) target: Target,
    /// The addresses a connection may go to.
    pub addresses: Vec<SocketAddr>,
}

impl Admitted {
    /// The host as rules know it.
    pub fn host(&self) -> &str {
        self.target.host()
    }
}

impl Guard {
    /// The guard these settings ask for.
    pub fn new(web: &Web) -> Self {
        Self { exceptions: web.allow_private.clone(), resolver: web.resolver.clone() }
    }

    /// Judges a URL and finds its addresses.
    pub async fn admit(&self, url: &str) -> Result<Admitted, Refusal> {
        self.admit_target(self.read(url)?).await
    }

    /// The same for a URL that was read before.
    pub(crate) async fn admit_target(&self, target: Target) -> Result<Admitted, Refusal> {
        self.judge(&target)?;
        let addresses = match target.place() {
            Place::Address(address) => vec![*address],
            Place::Name(name) => self.addresses(name, &target).await?,
        };
        let addresses = addresses.into_iter().map(|address| SocketAddr::new(address, target.port()));
        Ok(Admitted { addresses: addresses.collect(), target })
    }

    /// Reads a URL and says all that can be said about it without asking anybody.
    pub(crate) fn read(&self, url: &str) -> Result<Target, Refusal> {
        let target = Target::parse(url)?;
        self.judge(&target)?;
        Ok(target)
    }

    fn judge(&self, target: &Target) -> Result<(), Refusal> {
        let is_allowed = self.allows(target);
        match target.place() {
            Place::Address(address) => self.judge_address(*address, target)?,
            Place::Name(name) if METADATA.contains(&name.as_str()) => {
                return Err(never(target, "a metadata service that hands out credentials"));
            }
            Place::Name(name) if !is_allowed && is_own(name) => {
                return Err(private(target, "a name of your own network"));
            }
            Place::Name(_) => {}
        }
        if is_allowed || PORTS.contains(&target.port()) {
            return Ok(());
        }
        let (host, port) = (target.host(), target.port());
        Err(Refusal::forbidden(format!(
            "Port {port} is not one of {PORTS:?}, where web servers are. {}",
            way_out(&format!("{host}:{port}"))
        )))
    }

    async fn addresses(&self, name: &str, target: &Target) -> Result<Vec<IpAddr>, Refusal> {
        let found = (self.resolver)(name.to_owned()).await.map_err(|error| {
            Refusal::failed(format!("{name} cannot be found: {error}. Check the spelling of the host."))
        })?;
        if found.is_empty() {
            return Err(Refusal::failed(format!("{name} has no address. Check the spelling of the host.")));
        }
        // One bad address is enough: which of them a connection takes is not ours to choose.
        found.iter().try_for_each(|address| self.judge_address(*address, target))?;
        Ok(found)
    }

    fn judge_address(&self, address: IpAddr, target: &Target) -> Result<(), Refusal> {
        match reach(address) {
            Reach::Public => Ok(()),
            Reach::Private(_) if self.allows(target) => Ok(()),
            Reach::Private(what) => Err(private(target, &format!("{address}, {what}"))),
            Reach::Never(what) => Err(never(target, &format!("{address}, {what}"))),
        }
    }

    /// Whether somebody gave their word for it.
    pub(crate) fn allows(&self, target: &Target) -> bool {
        self.exceptions.iter().any(|exception| exception.covers(target))
    }
}

/// Whether anything can be made of these bytes that passes without a resolver. For fuzzing: it
/// must never panic, and a second reading of what passes must give the same.
pub fn passes(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    let guard = Guard::new(&Web::default());
    guard.read(text).is_ok_and(|target| guard.read(target.url().as_str()).as_ref() == Ok(&target))
}

fn is_own(name: &str) -> bool {
    let ends_in =
        |end: &&str| name.strip_suffix(*end).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
    !name.contains('.') || OWN.iter().any(ends_in)
}

fn private(target: &Target, what: &str) -> Refusal {
    let (host, port) = (target.host(), target.port());
    Refusal::forbidden(format!("{host} is not public: it is {what}. {}", way_out(&format!("{host}:{port}"))))
}

fn never(target: &Target, what: &str) -> Refusal {
    Refusal::forbidden(format!("{} is never reached: it is {what}.", target.host()))
}

fn way_out(place: &str) -> String {
    format!("The user can allow it in config.toml: [web] allow_private = [\"{place}\"].")
}

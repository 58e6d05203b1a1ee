//! SSRF guard of configured URLs: https or this machine only, no redirects, and no private address behind a name.
//!
//! Invariant: a connection goes to an address that was judged here. Names are resolved by the guard, and the client
//! connects to what it returns. A proxy would resolve them itself, so none is used.

use std::{
    io,
    net::{IpAddr, SocketAddr},
    sync::Arc,
};

use reqwest::{
    Client, Url,
    dns::{Addrs, Name, Resolve, Resolving},
};

use crate::{FailureClass, SendError, http};

/// Whether addresses of private networks may be reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PrivateAddresses {
    /// Only this machine, where the URL names it (`localhost`, `127.0.0.1`, `[::1]`).
    #[default]
    Refused,
    /// The owner allowed it.
    Allowed,
}

/// A URL that may be reached, with the client that keeps to the rules.
#[derive(Clone, Debug)]
pub(crate) struct GuardedUrl {
    pub(crate) url: Url,
    pub(crate) client: Client,
}

impl GuardedUrl {
    /// Fails if the URL may not be reached.
    pub(crate) fn new(text: &str, private: PrivateAddresses) -> Result<Self, SendError> {
        let url = Url::parse(text).map_err(|_| refused("the URL is not valid"))?;
        let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
        let is_own = is_own(host);
        if url.scheme() != "https" && !(url.scheme() == "http" && is_own) {
            return Err(refused(
                "the URL must begin with https://, or lead to this machine (127.0.0.1)",
            ));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(refused("the URL must not hold a user name or password"));
        }
        if let Ok(address) = host.parse::<IpAddr>()
            && !is_own
            && !may_reach(address, private)
        {
            return Err(refused(
                "the URL leads to a private address, which is not allowed",
            ));
        }
        let resolver = GuardedResolver { private, is_own };
        let client = http::builder(text)
            .no_proxy()
            .dns_resolver(Arc::new(resolver));
        let client = client
            .build()
            .map_err(|_| refused("the HTTP client cannot be built"))?;
        Ok(Self { url, client })
    }
}

impl GuardedUrl {
    /// A URL that the platform chose: it leads to the public network.
    pub(crate) fn public(text: &str) -> Result<Self, SendError> {
        let guarded = Self::new(text, PrivateAddresses::Refused)?;
        let host = guarded.url.host_str().unwrap_or_default();
        if is_own(host.trim_matches(['[', ']'])) {
            return Err(refused(
                "the URL leads to this machine, which is not allowed",
            ));
        }
        Ok(guarded)
    }
}

fn refused(words: &str) -> SendError {
    SendError::new(FailureClass::InvalidPayload, words)
}

/// Whether a host is this machine by its name.
fn is_own(host: &str) -> bool {
    host == "localhost"
        || host
            .parse::<IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}

#[derive(Debug)]
struct GuardedResolver {
    private: PrivateAddresses,
    is_own: bool,
}

impl Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let (private, is_own) = (self.private, self.is_own);
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let found: Vec<SocketAddr> = found.collect();
            // One bad address is enough: which of them a connection takes is not ours to choose.
            let is_fit = |address: &SocketAddr| {
                may_reach(address.ip(), private) || is_own && address.ip().is_loopback()
            };
            if !found.iter().all(is_fit) {
                let words = "the name leads to a private address, which is not allowed";
                return Err(io::Error::new(io::ErrorKind::PermissionDenied, words).into());
            }
            let addresses: Addrs = Box::new(found.into_iter());
            Ok(addresses)
        })
    }
}

/// Whether an address may be reached. Link-local addresses, where metadata services hand out credentials, never.
fn may_reach(address: IpAddr, private: PrivateAddresses) -> bool {
    let is_allowed = private == PrivateAddresses::Allowed;
    match address {
        IpAddr::V4(address) => match address.octets() {
            [0, ..] | [169, 254, ..] | [192, 0, 0, _] | [224..=255, ..] => false,
            [100, 100, 100, 200] | [168, 63, 129, 16] => false,
            [10 | 127, ..] | [172, 16..=31, ..] | [192, 168, ..] | [100, 64..=127, ..] => {
                is_allowed
            }
            [198, 18..=19, ..] => is_allowed,
            _ => true,
        },
        IpAddr::V6(address) => match address.segments() {
            [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
                let carried = (u32::from(high) << 16) | u32::from(low);
                may_reach(IpAddr::V4(carried.into()), private)
            }
            // Metadata services of clouds stand in the private range.
            [0xfd00, 0xec2 | 0x42, ..] | [0xfd20, 0xce, ..] => false,
            [0, 0, 0, 0, 0, 0, 0, 1] | [0xfc00..=0xfdff, ..] => is_allowed,
            // Tunnels that hide another address.
            [0x2001, 0, ..] | [0x2002, ..] => false,
            [0x2000..=0x3fff, ..] => true,
            _ => false,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use PrivateAddresses::{Allowed, Refused};

    #[test]
    fn addresses_are_judged_by_where_packets_end_up() {
        let cases = [
            ("93.184.216.34", true, true),
            ("2606:4700::1111", true, true),
            ("10.0.0.1", false, true),
            ("172.31.0.1", false, true),
            ("192.168.1.1", false, true),
            ("127.0.0.1", false, true),
            ("100.64.0.1", false, true),
            ("::1", false, true),
            ("fd12::1", false, true),
            ("::ffff:10.0.0.1", false, true),
            ("64:ff9b::7f00:1", false, true),
            ("169.254.169.254", false, false),
            ("::ffff:169.254.169.254", false, false),
            ("fe80::1", false, false),
            ("fd00:ec2::254", false, false),
            ("0.0.0.0", false, false),
            ("::", false, false),
            ("224.0.0.1", false, false),
            ("2002:7f00:1::", false, false),
        ];
        for (text, refused, allowed) in cases {
            let address = text.parse().unwrap();
            assert_eq!(may_reach(address, Refused), refused, "{text}");
            assert_eq!(may_reach(address, Allowed), allowed, "{text}");
        }
    }

    #[test]
    fn urls_are_https_or_this_machine_and_hold_no_password() {
        for (url, is_fit) in [
            ("https://a.example/hook", true),
            ("http://127.0.0.1:9/x", true),
            ("http://localhost:9", true),
            ("http://[::1]:9", true),
            ("http://a.example", false),
            ("http://10.0.0.1", false),
            ("https://10.0.0.1", false),
            ("https://2130706433", true),
            ("https://0x0a000001", false),
            ("https://[::ffff:10.0.0.1]", false),
            ("https://169.254.169.254", false),
            ("https://me:word@a.example", false),
            ("file:///etc/passwd", false),
            ("a.example", false),
        ] {
            assert_eq!(GuardedUrl::new(url, Refused).is_ok(), is_fit, "{url}");
        }
        assert!(GuardedUrl::public("https://a.example").is_ok());
        for url in [
            "http://127.0.0.1",
            "https://localhost",
            "https://[::1]",
            "https://2130706433",
        ] {
            assert!(GuardedUrl::public(url).is_err(), "{url}");
        }
        assert!(GuardedUrl::new("https://10.0.0.1", Allowed).is_ok());
        assert!(GuardedUrl::new("https://169.254.169.254", Allowed).is_err());
    }

    #[tokio::test]
    async fn a_name_that_leads_to_this_machine_is_refused_unless_the_url_says_so() {
        let name = || "localhost".parse::<Name>().unwrap();
        let guard = |is_own| GuardedResolver {
            private: Refused,
            is_own,
        };
        assert!(guard(false).resolve(name()).await.is_err());
        assert!(guard(true).resolve(name()).await.is_ok());
    }
}

//! Trusted proxies: whose `X-Forwarded-*` and `Forwarded` headers (RFC 7239) count. Those of others are ignored.

use std::{fmt, net::IpAddr, str::FromStr};

use axum::http::{
    HeaderMap, HeaderName,
    header::{FORWARDED, HOST},
};

const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");

/// The addresses of proxies that are trusted.
#[derive(Clone, Debug, Default)]
pub struct TrustedProxies(Vec<AddressRange>);

/// An address, or a range of them: `10.0.0.0/8`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressRange {
    address: IpAddr,
    bits: u8,
}

impl FromIterator<AddressRange> for TrustedProxies {
    fn from_iter<I: IntoIterator<Item = AddressRange>>(ranges: I) -> Self {
        Self(ranges.into_iter().collect())
    }
}

impl FromStr for AddressRange {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits)),
            None => (text, None),
        };
        let wrong = || format!("`{text}` is no address or range such as 10.0.0.0/8");
        let address: IpAddr = address.parse().map_err(|_| wrong())?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let bits = bits.map_or(Ok(most), |bits| bits.parse().map_err(|_| wrong()))?;
        if bits > most {
            return Err(wrong());
        }
        Ok(Self { address, bits })
    }
}

impl fmt::Display for AddressRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.bits)
    }
}

impl AddressRange {
    fn contains(self, address: IpAddr) -> bool {
        let (own, other, width) = match (self.address, address.to_canonical()) {
            (IpAddr::V4(own), IpAddr::V4(other)) => {
                (u128::from(own.to_bits()), u128::from(other.to_bits()), 32)
            }
            (IpAddr::V6(own), IpAddr::V6(other)) => (own.to_bits(), other.to_bits(), 128),
            _ => return false,
        };
        let rest = width - u32::from(self.bits);
        own.checked_shr(rest).unwrap_or(0) == other.checked_shr(rest).unwrap_or(0)
    }
}

impl TrustedProxies {
    /// Whether an address is that of a proxy.
    pub(crate) fn contains(&self, address: IpAddr) -> bool {
        self.0.iter().any(|range| range.contains(address))
    }

    /// Where a request comes from: behind proxies, the last address that is not one of them. A proxy adds what it saw at
    /// the end, so whatever stands before that may be invented.
    pub(super) fn client(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        let mut client = peer;
        if !self.contains(peer) {
            return client;
        }
        for address in forwarded_for(headers).into_iter().rev() {
            let Some(address) = address else { break };
            client = address;
            if !self.contains(client) {
                break;
            }
        }
        client
    }

    /// The host that the client asked for. None if the header is missing, twice there or not text.
    pub(super) fn host(&self, peer: IpAddr, headers: &HeaderMap) -> Option<String> {
        let told = if self.contains(peer) {
            let other = || element(last(headers, &FORWARDED)?, "host");
            last(headers, &FORWARDED_HOST)
                .map(str::to_owned)
                .or_else(other)
        } else {
            None
        };
        told.or_else(|| {
            let mut hosts = headers.get_all(HOST).iter();
            let host = hosts.next()?.to_str().ok()?;
            hosts.next().is_none().then(|| host.to_owned())
        })
    }
}

/// The addresses of the clients and proxies a request came through; none for one that is hidden or unreadable.
fn forwarded_for(headers: &HeaderMap) -> Vec<Option<IpAddr>> {
    if headers.contains_key(&FORWARDED_FOR) {
        let all = elements(headers, &FORWARDED_FOR);
        return all.into_iter().map(address).collect();
    }
    let all = elements(headers, &FORWARDED).into_iter();
    all.map(|one| address(&element(one, "for")?)).collect()
}

fn elements<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Vec<&'a str> {
    let lines = headers.get_all(name).iter();
    let lines = lines.filter_map(|line| line.to_str().ok());
    lines
        .flat_map(|line| line.split(','))
        .map(str::trim)
        .collect()
}

fn last<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    elements(headers, name).pop()
}

/// The value of a parameter of `Forwarded`.
fn element(text: &str, name: &str) -> Option<String> {
    let mut pairs = text
        .split(';')
        .filter_map(|pair| pair.trim().split_once('='));
    let found = pairs.find(|(key, _)| key.eq_ignore_ascii_case(name));
    found.map(|(_, value)| value.trim_matches('"').to_owned())
}

/// An address with or without a port, an IPv6 address also in brackets.
fn address(text: &str) -> Option<IpAddr> {
    if let Ok(address) = text.parse::<IpAddr>() {
        return Some(address.to_canonical());
    }
    let text = match text.strip_prefix('[') {
        Some(rest) => rest.split_once(']')?.0,
        None => text.split_once(':')?.0,
    };
    let address: IpAddr = text.parse().ok()?;
    Some(address.to_canonical())
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn headers(lines: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut map = HeaderMap::new();
        for (name, value) in lines {
            map.append(
                HeaderName::from_static(name),
                HeaderValue::from_static(value),
            );
        }
        map
    }

    fn trusted(text: &[&str]) -> TrustedProxies {
        text.iter()
            .map(|text| text.parse::<AddressRange>().unwrap())
            .collect()
    }

    #[test]
    fn b10_forwarded_headers_count_only_from_a_trusted_proxy() {
        let lines = headers(&[
            ("host", "inner:7663"),
            ("x-forwarded-for", "6.6.6.6, 203.0.113.7, 10.0.0.9"),
            ("x-forwarded-host", "roof.example"),
        ]);
        let proxy: IpAddr = "10.0.0.1".parse().unwrap();
        let none = TrustedProxies::default();
        assert_eq!(none.client(proxy, &lines), proxy);
        assert_eq!(none.host(proxy, &lines).as_deref(), Some("inner:7663"));
        let some = trusted(&["10.0.0.0/8"]);
        assert_eq!(
            some.client(proxy, &lines).to_string(),
            "203.0.113.7",
            "not what it says itself"
        );
        assert_eq!(some.host(proxy, &lines).as_deref(), Some("roof.example"));
        let other: IpAddr = "192.0.2.1".parse().unwrap();
        assert_eq!(some.client(other, &lines), other);
        let lines = headers(&[
            ("host", "inner"),
            ("forwarded", "for=\"[2001:db8::1]:4711\";host=roof.example"),
        ]);
        assert_eq!(some.client(proxy, &lines).to_string(), "2001:db8::1");
        assert_eq!(some.host(proxy, &lines).as_deref(), Some("roof.example"));
        let hidden = headers(&[("forwarded", "for=6.6.6.6, for=unknown")]);
        assert_eq!(
            some.client(proxy, &hidden),
            proxy,
            "nothing before what is hidden counts"
        );
    }

    #[test]
    fn ranges_hold_what_they_say() {
        let table = [
            ("10.0.0.0/8", "10.255.0.1", true),
            ("10.0.0.0/8", "11.0.0.1", false),
            ("127.0.0.1", "127.0.0.1", true),
            ("127.0.0.1", "127.0.0.2", false),
            ("127.0.0.1", "::ffff:127.0.0.1", true),
            ("0.0.0.0/0", "8.8.8.8", true),
            ("2001:db8::/32", "2001:db8:1::1", true),
            ("::/0", "2001:db8:1::1", true),
            ("::/0", "10.0.0.1", false),
        ];
        for (range, address, wanted) in table {
            let proxies = trusted(&[range]);
            assert_eq!(
                proxies.contains(address.parse().unwrap()),
                wanted,
                "{range} {address}"
            );
        }
        for wrong in ["", "10.0.0.0/33", "10.0.0/8", "host", "10.0.0.1/-1"] {
            assert!(wrong.parse::<AddressRange>().is_err(), "{wrong}");
        }
    }
}

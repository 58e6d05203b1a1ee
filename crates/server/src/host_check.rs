//! Validates the Host and Origin headers, against DNS rebinding and cross-site requests.
//!
//! A page that has its own name lead to this machine is same-origin to a browser; only the `Host` it
//! asks for gives it away. An address cannot be led elsewhere, so addresses are always good.

use std::net::IpAddr;

use axum::http::{HeaderMap, HeaderName, header::ORIGIN};

/// Why a request is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RefusedHost {
    /// It asks for a name that is not ours.
    UnknownName(String),
    /// A page of another site sent it.
    ForeignPage,
}

/// The names this server has besides its addresses.
pub(crate) struct HostCheck(Vec<String>);

impl HostCheck {
    pub(crate) fn new(names: &[String]) -> Self {
        Self(
            names
                .iter()
                .map(|name| plain(name))
                .chain(["localhost".to_owned()])
                .collect(),
        )
    }

    /// The same with the name in the URL under which people reach the server.
    pub(crate) fn with_public_url(mut self, url: Option<&str>) -> Self {
        let place = url.and_then(|url| url.split_once("://"));
        let place = place.and_then(|(_, rest)| rest.split('/').next());
        self.0.extend(place.map(|place| plain(without_port(place))));
        self
    }

    /// Whether a request may come in, as far as browsers tell where it comes from. `host` is what the client asked for.
    pub(crate) fn check(&self, headers: &HeaderMap, host: Option<&str>) -> Result<(), RefusedHost> {
        self.check_name(host)?;
        let host = host.unwrap_or_default();
        let own = |origin: &str| {
            let place = origin
                .strip_prefix("http://")
                .or_else(|| origin.strip_prefix("https://"));
            place.is_some_and(|place| place.eq_ignore_ascii_case(host))
        };
        let is_foreign = headers.contains_key(ORIGIN) && !text(headers, &ORIGIN).is_some_and(own);
        let site = text(headers, &HeaderName::from_static("sec-fetch-site"));
        if is_foreign || site.is_some_and(|site| !matches!(site, "same-origin" | "none")) {
            return Err(RefusedHost::ForeignPage);
        }
        Ok(())
    }

    /// Whether the name that the client asked for is one of ours.
    pub(crate) fn check_name(&self, host: Option<&str>) -> Result<(), RefusedHost> {
        let host = host.unwrap_or_default();
        let name = without_port(host);
        if name.parse::<IpAddr>().is_err() && !self.0.contains(&plain(name)) {
            let shown = host.chars().take(100).collect();
            return Err(RefusedHost::UnknownName(shown));
        }
        Ok(())
    }
}

/// A header that is there once and is text; one that is there twice could be read in two ways.
fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(value)
}

fn plain(name: &str) -> String {
    name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase()
}

/// The name or address alone, an IPv6 address without its brackets.
fn without_port(host: &str) -> &str {
    if let Some(rest) = host.strip_prefix('[') {
        return match rest.split_once(']') {
            Some((address, "")) => address,
            Some((address, port)) if is_port(port) => address,
            _ => "",
        };
    }
    match host.split_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        Some(_) => "",
        None => host,
    }
}

fn is_port(text: &str) -> bool {
    text.strip_prefix(':')
        .is_some_and(|port| port.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn admits(headers: &[(&'static str, &str)]) -> bool {
        let headers = headers.iter().map(|(name, value)| {
            (
                HeaderName::from_static(name),
                HeaderValue::from_str(value).unwrap(),
            )
        });
        let mut map = HeaderMap::new();
        headers.for_each(|(name, value)| {
            map.append(name, value);
        });
        let host = text(&map, &axum::http::header::HOST);
        HostCheck::new(&["Roof.example.com".into()])
            .with_public_url(Some("https://public.example:8443/x"))
            .check(&map, host)
            .is_ok()
    }

    #[test]
    fn only_addresses_and_names_of_its_own_are_answered() {
        for good in [
            "127.0.0.1",
            "127.0.0.1:7663",
            "localhost:1",
            "LOCALHOST",
            "localhost.",
            "[::1]:80",
            "[::1]",
            "192.168.1.2:80",
            "roof.example.com",
            "ROOF.example.com.:443",
            "public.example:8443",
        ] {
            assert!(admits(&[("host", good)]), "{good}");
        }
        for bad in [
            "",
            "evil.test",
            "evil.test:7663",
            "localhost.evil.test",
            "127.0.0.1.evil.test",
            "localhost@evil.test",
            "localhost:80@evil.test",
            "[::1",
            "[::1]x",
            "[evil.test]",
            "127.1",
            "0x7f.1",
            "xroof.example.com",
            "roof.example.com.evil.test",
            "::1",
            "localhost:80:80",
        ] {
            assert!(!admits(&[("host", bad)]), "{bad}");
        }
        assert!(!admits(&[]));
        assert!(!admits(&[("host", "localhost"), ("host", "localhost")]));
    }

    #[test]
    fn pages_of_others_are_not_answered() {
        let host = ("host", "localhost:7663");
        for good in ["http://localhost:7663", "https://LOCALHOST:7663"] {
            assert!(admits(&[host, ("origin", good)]), "{good}");
        }
        for bad in [
            "null",
            "",
            "http://localhost",
            "http://evil.test",
            "file://localhost:7663",
            "localhost:7663",
        ] {
            assert!(!admits(&[host, ("origin", bad)]), "{bad}");
        }
        for (site, is_good) in [
            ("same-origin", true),
            ("none", true),
            ("cross-site", false),
            ("same-site", false),
        ] {
            assert_eq!(admits(&[host, ("sec-fetch-site", site)]), is_good, "{site}");
        }
    }
}

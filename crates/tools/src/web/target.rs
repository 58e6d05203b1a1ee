//! Parses and normalizes a URL: one spelling of its host, its port, no credentials. Pure.
//!
//! The WHATWG parser turns every odd spelling of an address (decimal, octal, hexadecimal, short,
//! percent-encoded, full-width) into the address, so that what is judged, shown and connected to
//! is one thing. What only ever serves to mislead a reader is refused before it is parsed.

use std::net::IpAddr;

use url::{Host, Url};

use super::error::WebError;

/// Longer URLs carry something out rather than name something.
const LONGEST: usize = 8_192;

/// A URL that is well-formed and honest. Whether it may be reached is for the guard to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UrlTarget {
    url: Url,
    place: UrlHost,
    port: u16,
}

/// Host of a URL: a name or an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum UrlHost {
    /// A host name: lower case, ASCII, without a dot at its end.
    Name(String),
    /// An IP address.
    Address(IpAddr),
}

impl UrlTarget {
    /// Reads a URL as a model or a server wrote it.
    pub fn parse(text: &str) -> Result<Self, WebError> {
        let text = text.trim_matches(|letter: char| letter.is_ascii_whitespace());
        refuse_misleading(text)?;
        let mut url = Url::parse(text).map_err(|error| {
            WebError::malformed(format!("`{}` is not a URL: {error}.", brief(text)))
        })?;
        url.set_fragment(None);
        let place = place(&url)
            .ok_or_else(|| WebError::malformed("The URL names no host that could exist."))?;
        if let UrlHost::Name(name) = &place {
            // A dot at the end changes nothing for a resolver; with it a name would pass for another one.
            let named = url.set_host(Some(name));
            named
                .map_err(|_| WebError::malformed(format!("`{name}` is not the name of a host.")))?;
        }
        let port = url
            .port_or_known_default()
            .ok_or_else(|| WebError::malformed("The URL has no port."))?;
        Ok(Self { url, place, port })
    }

    /// Where this one's server says that it went.
    pub fn follow(&self, location: &str) -> Result<Self, WebError> {
        let next = self.url.join(location.trim()).map_err(|error| {
            WebError::failed(format!(
                "{} redirects to something that is no URL: {error}.",
                self.url
            ))
        })?;
        Self::parse(next.as_str())
    }

    pub fn url(&self) -> &Url {
        &self.url
    }

    pub fn place(&self) -> &UrlHost {
        &self.place
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// The host in the one spelling that rules are compared with; an IPv6 address in brackets.
    pub fn host(&self) -> &str {
        self.url.host_str().unwrap_or_default()
    }

    pub fn is_encrypted(&self) -> bool {
        self.url.scheme() == "https"
    }
}

/// Refuses what a reader and a parser would take for different things.
fn refuse_misleading(text: &str) -> Result<(), WebError> {
    if text.len() > LONGEST {
        return Err(WebError::malformed(format!(
            "The URL is longer than {LONGEST} bytes."
        )));
    }
    if text.chars().any(char::is_control) {
        return Err(WebError::malformed(
            "There are control characters in the URL; leave them out.",
        ));
    }
    let (scheme, rest) = text.split_once(':').unwrap_or_default();
    if !["http", "https"]
        .iter()
        .any(|known| known.eq_ignore_ascii_case(scheme))
    {
        let words = format!(
            "`{}` is not a web address; write it whole, with https://.",
            brief(text)
        );
        return Err(WebError::malformed(words));
    }
    let before_query = rest.split(['?', '#']).next().unwrap_or_default();
    if before_query.contains('\\') {
        return Err(WebError::malformed(
            "There is a backslash in the URL; write slashes.",
        ));
    }
    let Some(authority) = before_query
        .strip_prefix("//")
        .filter(|rest| !rest.starts_with('/'))
    else {
        return Err(WebError::malformed(
            "The URL must have two slashes and a host behind its scheme.",
        ));
    };
    if authority
        .split('/')
        .next()
        .is_some_and(|authority| authority.contains('@'))
    {
        return Err(WebError::malformed(
            "There is a name or a password before the host of the URL; leave both out.",
        ));
    }
    Ok(())
}

fn place(url: &Url) -> Option<UrlHost> {
    Some(match url.host()? {
        Host::Ipv4(address) => UrlHost::Address(address.into()),
        Host::Ipv6(address) => UrlHost::Address(address.into()),
        Host::Domain(name) => {
            let name = name.strip_suffix('.').unwrap_or(name);
            let is_name =
                name.len() <= 253 && name.split('.').all(|label| (1..=63).contains(&label.len()));
            is_name.then(|| UrlHost::Name(name.to_owned()))?
        }
    })
}

fn brief(text: &str) -> String {
    text.chars()
        .filter(|letter| !letter.is_control())
        .take(80)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_spellings_are_what_they_are() {
        let table = [
            ("http://2130706433/", "127.0.0.1"),
            ("http://0x7f.1/", "127.0.0.1"),
            ("http://0177.0.0.01/", "127.0.0.1"),
            ("http://127.1./", "127.0.0.1"),
            ("http://①②⑦.⓪.⓪.①/", "127.0.0.1"),
            ("http://127。0。0。1/", "127.0.0.1"),
            ("http://%31%32%37.0.0.1/", "127.0.0.1"),
            ("HTTP://EXAMPLE.com./", "example.com"),
            ("https://bücher.example/", "xn--bcher-kva.example"),
            ("https://lo\u{ad}calhost/", "localhost"),
            ("http://[0:0:0:0:0:ffff:127.0.0.1]/", "[::ffff:7f00:1]"),
        ];
        for (text, host) in table {
            assert_eq!(UrlTarget::parse(text).unwrap().host(), host, "{text}");
        }
    }

    #[test]
    fn what_only_misleads_is_refused() {
        let table = [
            "http://good.example@evil.example/",
            "http://good.example:80@127.0.0.1/",
            "http:\\\\127.0.0.1\\",
            "http:/127.0.0.1/",
            "http:127.0.0.1",
            "http:///127.0.0.1/",
            "http://exa\tmple.com/",
            "file:///etc/passwd",
            "example.com/page",
            "//example.com/",
            "",
            "http://./",
            "http://../",
            "http://a..b/",
        ];
        for text in table {
            assert!(UrlTarget::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_redirect_is_read_like_a_url() {
        let here = UrlTarget::parse("https://a.example/x/y").unwrap();
        let went = |location: &str| here.follow(location).map(|target| target.url().to_string());
        assert_eq!(went("../z#part").unwrap(), "https://a.example/z");
        assert_eq!(went("//b.example").unwrap(), "https://b.example/");
        assert_eq!(went("/\\127.0.0.1/").unwrap(), "https://127.0.0.1/");
        assert!(went("file:///etc/passwd").is_err() && went("http://a@b.example/").is_err());
    }
}

//! Host patterns of allow lists: one host, or all subdomains of a name. Parses and matches them.

use std::{
    fmt,
    net::{Ipv4Addr, Ipv6Addr},
    str::FromStr,
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ErrorCode, Problem};

/// One host, or all below a name: `example.com` is itself, `*.example.com` what is below it, `*` every
/// public host. Rules about domains mean the same by it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct HostPattern(String);

impl HostPattern {
    /// Whether a host matches: in lower case, without a dot at its end, an IPv6 address in brackets.
    pub fn covers(&self, host: &str) -> bool {
        match self.0.strip_prefix('*') {
            None => self.0 == host,
            Some("") => true,
            Some(below) => host.len() > below.len() && host.ends_with(below),
        }
    }

    /// Whether this pattern covers every host that another one matches.
    pub(crate) fn covers_pattern(&self, other: &Self) -> bool {
        // A subdomain of a subdomain of this name is a subdomain of this name.
        self.covers(&other.0)
    }
}

impl FromStr for HostPattern {
    type Err = Problem;

    /// Parses a pattern as people write it.
    fn from_str(text: &str) -> Result<Self, Problem> {
        let wrong = |why: &str| {
            Problem::new(ErrorCode::InvalidConfig, format!("`{text}` names no hosts"))
                .cause(why)
                .fix("write a host (crates.io), what is below one (*.github.com), or * for every public host")
        };
        let plain = text.trim().trim_end_matches('.').to_ascii_lowercase();
        let name = plain.strip_prefix("*.").unwrap_or(&plain);
        if plain == "*" {
            return Ok(Self(plain));
        }
        if let Some(inner) = plain
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'))
        {
            let address: Ipv6Addr = inner
                .parse()
                .map_err(|_| wrong("what is in brackets is no address"))?;
            return Ok(Self(format!("[{address}]")));
        }
        if !name.is_ascii() {
            return Err(wrong(
                "letters beyond ASCII are written in their xn-- form here",
            ));
        }
        if name.contains(['/', ':', '@']) {
            return Err(wrong(
                "it is more than a host; leave out scheme, port and path",
            ));
        }
        let is_label = |label: &str| {
            let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
            (1..=63).contains(&label.len()) && label.bytes().all(is_letter)
        };
        if name.len() > 253 || !name.split('.').all(is_label) {
            return Err(wrong("it is not the name of a host"));
        }
        let is_number = name
            .rsplit('.')
            .next()
            .is_some_and(|last| last.bytes().all(|byte| byte.is_ascii_digit()));
        if is_number && (plain != name || name.parse::<Ipv4Addr>().is_err()) {
            return Err(wrong("it ends in a number and is no address"));
        }
        Ok(Self(plain))
    }
}

impl TryFrom<String> for HostPattern {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse().map_err(|problem: Problem| {
            let cause = problem
                .cause
                .map(|cause| format!(": {cause}"))
                .unwrap_or_default();
            format!("{}{cause}", problem.message)
        })
    }
}

impl From<HostPattern> for String {
    fn from(pattern: HostPattern) -> Self {
        pattern.0
    }
}

impl fmt::Display for HostPattern {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_a_host_or_what_is_below_one() {
        let table = [
            ("crates.io", "crates.io", true),
            ("Crates.IO.", "crates.io", true),
            ("crates.io", "static.crates.io", false),
            ("crates.io", "evilcrates.io", false),
            ("*.crates.io", "static.crates.io", true),
            ("*.crates.io", "a.b.crates.io", true),
            ("*.crates.io", "crates.io", false),
            ("*.crates.io", "evilcrates.io", false),
            ("*.crates.io", "crates.io.evil.example", false),
            ("*", "anybody.example", true),
            ("10.0.0.5", "10.0.0.5", true),
            ("[0::1]", "[::1]", true),
        ];
        for (pattern, host, is_meant) in table {
            assert_eq!(
                pattern.parse::<HostPattern>().unwrap().covers(host),
                is_meant,
                "{pattern} {host}"
            );
        }
    }

    #[test]
    fn what_names_no_hosts_is_refused_with_a_way_out() {
        let table = [
            "",
            "https://crates.io",
            "crates.io:443",
            "a..b",
            "*x.io",
            "a.*.io",
            "*.0.0.1",
            "127.1",
            "bücher.de",
            "a b",
        ];
        for text in table {
            let problem = text.parse::<HostPattern>().unwrap_err();
            assert!(problem.fix.unwrap().contains("*.github.com"), "{text}");
        }
    }
}

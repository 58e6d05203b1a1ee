//! Matches URLs of web pages against rules such as `domain:example.com`.
//!
//! [`HostPattern`] decides which hosts a pattern matches; this file handles the rest of the URL.

use rooftree_protocol::HostPattern;

/// Whether an address is surely on a domain. A name that means no hosts has none.
pub(super) fn is_on(url: &str, domain: &str) -> bool {
    let is_plain = !url.contains(['\\', '@', '%', ' ', '\t', '\n']);
    is_plain && host(url).is_some_and(|host| means(domain, &host).unwrap_or(false))
}

/// Whether an address may be on a domain or below it: who refuses a host refuses what is below it.
pub(super) fn may_be_on(url: &str, domain: &str) -> bool {
    let bare = domain.trim().strip_prefix("*.").unwrap_or(domain);
    let below = format!("*.{bare}");
    let found = host(url).and_then(|host| {
        let itself = means(bare, &host)?;
        Some(itself || means(&below, &host).unwrap_or(false))
    });
    // What cannot be told apart is meant as soon as it is mentioned.
    found.unwrap_or_else(|| {
        url.to_ascii_lowercase()
            .contains(&bare.to_ascii_lowercase())
    })
}

/// Whether a host is one that a name means; none if the name means no hosts.
fn means(domain: &str, host: &str) -> Option<bool> {
    domain
        .parse::<HostPattern>()
        .ok()
        .map(|pattern| pattern.covers(host))
}

/// The host of an address, in small letters. A tool that has read the address already says `domain:HOST`.
fn host(url: &str) -> Option<String> {
    if let Some(host) = url.strip_prefix("domain:") {
        return Some(host.trim_end_matches('.').to_ascii_lowercase())
            .filter(|host| !host.is_empty());
    }
    let (scheme, rest) = url.trim().split_once("://")?;
    if !matches!(scheme.to_ascii_lowercase().as_str(), "http" | "https") {
        return None;
    }
    let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    let host = if host.starts_with('[') {
        host
    } else {
        host.split(':').next().unwrap_or_default()
    };
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    (!host.is_empty()).then_some(host)
}

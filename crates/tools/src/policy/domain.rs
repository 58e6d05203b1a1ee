//! Compares the addresses of web pages with rules such as `domain:example.com`.

/// Whether an address is surely on a domain.
pub(super) fn is_on(url: &str, domain: &str) -> bool {
    let is_plain = !url.contains(['\\', '@', '%', ' ', '\t', '\n']);
    is_plain && host(url).is_some_and(|host| is_host_of(&host, domain))
}

/// Whether an address may be on a domain or below it.
pub(super) fn may_be_on(url: &str, domain: &str) -> bool {
    let bare = domain.strip_prefix("*.").unwrap_or(domain).to_ascii_lowercase();
    let is_below = |host: &str| host == bare || host.ends_with(&format!(".{bare}")) || bare == "*";
    match host(url) {
        Some(host) => is_below(&host),
        None => url.to_ascii_lowercase().contains(&bare),
    }
}

/// `example.com` is itself, `*.example.com` what is below it, `*` everything.
fn is_host_of(host: &str, domain: &str) -> bool {
    let domain = domain.trim_end_matches('.').to_ascii_lowercase();
    match domain.strip_prefix("*.") {
        Some(above) => host.ends_with(&format!(".{above}")),
        None => domain == "*" || host == domain,
    }
}

/// The host of an address, in small letters. A tool that has read the address already says `domain:HOST`.
fn host(url: &str) -> Option<String> {
    if let Some(host) = url.strip_prefix("domain:") {
        return Some(host.trim_end_matches('.').to_ascii_lowercase()).filter(|host| !host.is_empty());
    }
    let (scheme, rest) = url.trim().split_once("://")?;
    if !matches!(scheme.to_ascii_lowercase().as_str(), "http" | "https") {
        return None;
    }
    let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    let host = if host.starts_with('[') { host } else { host.split(':').next().unwrap_or_default() };
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    (!host.is_empty()).then_some(host)
}

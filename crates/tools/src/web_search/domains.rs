//! Parses and matches lists of domains. Pure.

use serde_json::Value;

use super::{WebSearchHit, WebSearchRequest};
use crate::web::target::UrlTarget;

/// The domains of an argument, each in the one spelling it has.
pub(super) fn of(input: &Value, name: &str) -> Result<Vec<String>, String> {
    let written = input
        .get(name)
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str);
    written
        .map(|text| {
            let bare = text.trim().trim_start_matches("*.").trim_start_matches('.');
            let target = UrlTarget::parse(&format!("https://{bare}/")).ok();
            let host = target
                .filter(|_| !bare.contains('/'))
                .map(|target| target.host().to_owned());
            host.ok_or_else(|| {
                format!("WebSearch: `{name}` has `{text}`; write a domain such as docs.rs.")
            })
        })
        .collect()
}

/// Whether something that was found is what was wished for. Services do not keep to it.
pub(super) fn is_wanted(hit: &WebSearchHit, wish: &WebSearchRequest) -> bool {
    let Some(host) = host(&hit.url).map(|host| hit.host.clone().unwrap_or(host)) else {
        return false;
    };
    let is_in = |domain: &String| {
        host.strip_suffix(domain.as_str())
            .is_some_and(|before| before.is_empty() || before.ends_with('.'))
    };
    (wish.allowed.is_empty() || wish.allowed.iter().any(is_in)) && !wish.blocked.iter().any(is_in)
}

/// The host of a URL, if it is one.
pub(super) fn host(url: &str) -> Option<String> {
    UrlTarget::parse(url)
        .ok()
        .map(|target| target.host().to_owned())
}

/// The question with its domains in it, for services that have no other way to say it.
pub(super) fn in_words(wish: &WebSearchRequest) -> String {
    let allowed: Vec<String> = wish
        .allowed
        .iter()
        .map(|domain| format!("site:{domain}"))
        .collect();
    let blocked: String = wish
        .blocked
        .iter()
        .map(|domain| format!(" -site:{domain}"))
        .collect();
    match allowed.as_slice() {
        [] => format!("{}{blocked}", wish.query),
        [one] => format!("{} {one}{blocked}", wish.query),
        several => format!("{} ({}){blocked}", wish.query, several.join(" OR ")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_domain_covers_what_is_below_it_and_nothing_that_looks_like_it() {
        let hit = |url: &str| WebSearchHit {
            url: url.to_owned(),
            ..WebSearchHit::default()
        };
        let wish = WebSearchRequest {
            allowed: vec!["docs.rs".into()],
            blocked: vec!["old.docs.rs".into()],
            ..WebSearchRequest::default()
        };
        assert!(
            is_wanted(&hit("https://docs.rs/serde"), &wish)
                && is_wanted(&hit("https://new.docs.rs"), &wish)
        );
        for url in [
            "https://evildocs.rs/",
            "https://old.docs.rs/",
            "https://docs.rs.evil.example/",
            "ftp://docs.rs",
        ] {
            assert!(!is_wanted(&hit(url), &wish), "{url}");
        }
    }

    #[test]
    fn domains_are_read_as_hosts() {
        let read = |domains: Value| of(&json!({"d": domains}), "d");
        assert_eq!(
            read(json!(["*.Docs.RS", "bücher.example"])).unwrap(),
            ["docs.rs", "xn--bcher-kva.example"]
        );
        assert!(read(json!(["docs.rs/serde"])).is_err() && read(json!([""])).is_err());
        let wish = |allowed: &[&str]| WebSearchRequest {
            query: "q".into(),
            allowed: allowed.iter().map(ToString::to_string).collect(),
            blocked: vec!["c.d".into()],
            ..WebSearchRequest::default()
        };
        assert_eq!(in_words(&wish(&["a.b"])), "q site:a.b -site:c.d");
        assert_eq!(
            in_words(&wish(&["a.b", "e.f"])),
            "q (site:a.b OR site:e.f) -site:c.d"
        );
    }
}

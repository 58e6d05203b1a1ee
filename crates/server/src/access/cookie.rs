//! The login cookie: the device token of a browser, which no script can read.

use axum::http::{HeaderMap, HeaderValue, header::COOKIE};
use rooftree_runtime::TOKEN_PREFIX;

/// How long a browser keeps it, in seconds. The token in it ends by itself at the same time.
const MAX_AGE: u32 = 90 * 24 * 60 * 60;

/// Name and attributes of the cookie.
#[derive(Clone, Debug)]
pub(crate) struct LoginCookie {
    name: String,
    is_secure: bool,
}

impl LoginCookie {
    /// Cookies of a host are shared by all its ports, so the port is part of the name. With a public `https` URL the cookie
    /// is sent over TLS alone.
    pub(super) fn new(port: u16, public_url: Option<&str>) -> Self {
        let is_secure = public_url.is_some_and(|url| {
            let scheme = url.split("://").next().unwrap_or_default();
            scheme.eq_ignore_ascii_case("https")
        });
        let prefix = if is_secure { "__Host-" } else { "" };
        Self {
            name: format!("{prefix}rooftree_{port}"),
            is_secure,
        }
    }

    /// The token in it; none if there is no such cookie or there are two.
    pub(super) fn read(&self, headers: &HeaderMap) -> Option<String> {
        let lines = headers.get_all(COOKIE).iter();
        let lines = lines.filter_map(|line| line.to_str().ok());
        let mut found = lines
            .flat_map(|line| line.split(';'))
            .filter_map(|pair| pair.trim().split_once('='))
            .filter(|(name, _)| *name == self.name)
            .map(|(_, value)| value.to_owned());
        let value = found.next()?;
        let is_token = found.next().is_none() && value.starts_with(TOKEN_PREFIX);
        is_token.then_some(value)
    }

    /// The header that sets it.
    pub(crate) fn set(&self, token: &str) -> Option<HeaderValue> {
        self.header(token, MAX_AGE)
    }

    /// The header that takes it away.
    pub(crate) fn clear(&self) -> Option<HeaderValue> {
        self.header("", 0)
    }

    fn header(&self, value: &str, age: u32) -> Option<HeaderValue> {
        let secure = if self.is_secure { "; Secure" } else { "" };
        let name = &self.name;
        let text =
            format!("{name}={value}; Path=/; Max-Age={age}; HttpOnly; SameSite=Strict{secure}");
        let mut header = HeaderValue::from_str(&text).ok()?;
        header.set_sensitive(true);
        Some(header)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cookie_is_out_of_reach_of_scripts_and_of_other_sites() {
        let plain = LoginCookie::new(7663, None);
        let set = plain.set("rt_1").unwrap();
        let set = set.to_str().unwrap();
        assert!(set.starts_with("rooftree_7663=rt_1;"), "{set}");
        assert!(set.contains("HttpOnly") && set.contains("SameSite=Strict"));
        assert!(!set.contains("Secure"), "http://127.0.0.1 has no TLS");
        let public = LoginCookie::new(7663, Some("https://roof.example"));
        let set = public.set("rt_1").unwrap();
        let set = set.to_str().unwrap();
        assert!(set.starts_with("__Host-rooftree_7663=") && set.ends_with("; Secure"));
        let read = |text: &str| {
            let text = HeaderValue::from_str(text).unwrap();
            plain.read(&HeaderMap::from_iter([(COOKIE, text)]))
        };
        assert_eq!(read("a=b; rooftree_7663=rt_1").as_deref(), Some("rt_1"));
        for wrong in [
            "rooftree_7664=rt_1",
            "rooftree_7663=",
            "rooftree_7663=x",
            "rooftree_7663=rt_1; rooftree_7663=rt_2",
            "xrooftree_7663=rt_1",
        ] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}

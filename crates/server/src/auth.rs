//! The token of `ROOFTREE_SERVER_TOKEN`, which is good for asking agents under `/v1` and for nothing else.

use axum::http::{HeaderMap, header::AUTHORIZATION};
use ring::{hmac, rand};

/// Knows the token, if there is one.
pub(crate) struct TokenAuth(Option<TokenDigest>);

/// The token as a tag under a key that lives as long as the server. Comparing tags takes the same
/// time however much of a guess is right, and however long it is.
struct TokenDigest {
    key: hmac::Key,
    tag: hmac::Tag,
}

impl TokenAuth {
    /// Accepts this token; rejects every request without one, or on a machine without random bytes.
    pub(crate) fn new(token: Option<&str>) -> Self {
        let token = token.filter(|token| !token.is_empty());
        let key = hmac::Key::generate(hmac::HMAC_SHA256, &rand::SystemRandom::new()).ok();
        Self(key.zip(token).map(|(key, token)| TokenDigest {
            tag: hmac::sign(&key, token.as_bytes()),
            key,
        }))
    }

    /// Whether a request may come in.
    pub(crate) fn is_authorised(&self, headers: &HeaderMap) -> bool {
        let Some(lock) = &self.0 else { return false };
        let shown = headers
            .get(AUTHORIZATION)
            .and_then(|value| value.to_str().ok());
        let shown = shown.and_then(|value| value.split_once(' '));
        let token = shown
            .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
            .map(|(_, token)| token);
        token.is_some_and(|token| {
            hmac::verify(&lock.key, token.trim().as_bytes(), lock.tag.as_ref()).is_ok()
        })
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn only_the_token_opens_and_without_one_nothing_does() {
        let shown = |text: &'static str| {
            HeaderMap::from_iter([(AUTHORIZATION, HeaderValue::from_static(text))])
        };
        let gate = TokenAuth::new(Some("sesame"));
        assert!(
            gate.is_authorised(&shown("Bearer sesame"))
                && gate.is_authorised(&shown("bearer  sesame"))
        );
        for wrong in [
            "Bearer sesam",
            "Bearer sesame2",
            "Bearer ",
            "Basic sesame",
            "sesame",
            "",
        ] {
            assert!(!gate.is_authorised(&shown(wrong)), "{wrong}");
        }
        assert!(!gate.is_authorised(&HeaderMap::new()));
        for none in [None, Some("")] {
            assert!(!TokenAuth::new(none).is_authorised(&shown("Bearer ")));
        }
    }
}

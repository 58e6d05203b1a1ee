//! Signatures of webhook requests: HMAC-SHA256 over `timestamp.body` or the body alone, compared in constant time.

use ring::hmac::{HMAC_SHA256, Key, sign, verify};

/// The signature of a body at a time in seconds since 1970, as `v1=` and hexadecimal digits.
pub fn sign_body(secret: &str, timestamp: i64, body: &[u8]) -> String {
    let tag = sign(&key(secret), &signed(timestamp, body));
    format!("v1={}", hex(tag.as_ref()))
}

/// Whether a signature is that of the body. Takes as long for a wrong one as for the right one.
pub fn is_signed(secret: &str, timestamp: i64, body: &[u8], signature: &str) -> bool {
    let tag = signature.strip_prefix("v1=").and_then(bytes_of_hex);
    tag.is_some_and(|tag| verify(&key(secret), &signed(timestamp, body), &tag).is_ok())
}

/// Whether hexadecimal digits are the HMAC-SHA256 of the body alone.
pub(crate) fn is_hmac_of_body(secret: &str, body: &[u8], digits: &str) -> bool {
    let tag = bytes_of_hex(digits);
    tag.is_some_and(|tag| verify(&key(secret), body, &tag).is_ok())
}

/// The SHA-256 of the parts, each with its length before it, as 32 hexadecimal digits.
pub(crate) fn short_digest(parts: &[&[u8]]) -> String {
    let mut context = ring::digest::Context::new(&ring::digest::SHA256);
    for part in parts {
        context.update(&(part.len() as u64).to_be_bytes());
        context.update(part);
    }
    let digest = context.finish();
    hex(digest.as_ref()).chars().take(32).collect()
}

/// Whether two secrets are equal, in a time that tells nothing of where they differ.
pub(crate) fn equal_secrets(given: &str, own: &str) -> bool {
    let tag = sign(&key(own), b"equal");
    !own.is_empty() && verify(&key(given), b"equal", tag.as_ref()).is_ok()
}

fn key(secret: &str) -> Key {
    Key::new(HMAC_SHA256, secret.as_bytes())
}

fn signed(timestamp: i64, body: &[u8]) -> Vec<u8> {
    let mut text = format!("{timestamp}.").into_bytes();
    text.extend_from_slice(body);
    text
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn bytes_of_hex(hex: &str) -> Option<Vec<u8>> {
    if !hex.len().is_multiple_of(2) || !hex.is_ascii() {
        return None;
    }
    let pairs = (0..hex.len()).step_by(2);
    pairs
        .map(|at| u8::from_str_radix(hex.get(at..at + 2)?, 16).ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_holds_for_its_secret_time_and_body_only() {
        let signature = sign_body("secret", 1_700_000_000, b"{}");
        assert!(is_signed("secret", 1_700_000_000, b"{}", &signature));
        assert!(!is_signed("Secret", 1_700_000_000, b"{}", &signature));
        assert!(!is_signed("secret", 1_700_000_001, b"{}", &signature));
        assert!(!is_signed("secret", 1_700_000_000, b"{ }", &signature));
        for wrong in ["", "v1=", "v1=zz", "v1=abc", "sha256=00", &signature[..20]] {
            assert!(!is_signed("secret", 1_700_000_000, b"{}", wrong), "{wrong}");
        }
    }

    #[test]
    fn the_signature_is_plain_hmac_sha256() {
        // printf '1.a' | openssl dgst -sha256 -hmac key
        let expected = "v1=32a5f52f8b585db06b5960c1b30992c0575588cf6343eeb646efa5bfd9ca5a17";
        assert_eq!(sign_body("key", 1, b"a"), expected);
    }

    #[test]
    fn secrets_are_equal_only_if_they_are_the_same_and_not_empty() {
        assert!(equal_secrets("abc", "abc"));
        assert!(!equal_secrets("abd", "abc"));
        assert!(!equal_secrets("", ""));
        // Short keys of an HMAC are filled with zeros; a header cannot hold them.
        assert!(!equal_secrets("abc ", "abc"));
    }
}

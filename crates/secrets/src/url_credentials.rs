//! Credentials in URLs, authorization headers and web hook addresses.

use std::ops::Range;

use super::{entropy::is_mixed, token::TokenAlphabet};

/// No credentials are longer.
const LONGEST: usize = 4096;

/// What documentation writes where a password would stand.
const STAND_INS: [&str; 14] = [
    "password",
    "passwd",
    "pass",
    "pwd",
    "secret",
    "token",
    "changeme",
    "example",
    "postgres",
    "mysql",
    "root",
    "guest",
    "redacted",
    "your-password",
];

/// The password in `scheme://user:password@host`, or a token in its place.
pub(super) fn password(text: &str, literal: Range<usize>) -> Option<Range<usize>> {
    let rest = text.as_bytes().get(literal.end..)?;
    let ends = |byte: &u8| {
        byte.is_ascii_whitespace()
            || matches!(
                byte,
                b'/' | b'"' | b'\'' | b'`' | b'<' | b'>' | b'?' | b'#' | b'\\'
            )
    };
    let authority = rest
        .iter()
        .take(512)
        .position(ends)
        .unwrap_or(rest.len().min(512));
    let at = rest
        .get(..authority)?
        .iter()
        .rposition(|byte| *byte == b'@')?;
    let person = text.get(literal.end..literal.end + at)?;
    let (from, value) = match person.find(':') {
        Some(colon) => (literal.end + colon + 1, person.get(colon + 1..)?),
        // No user name: a token sent alone.
        None if person.len() >= 20 && is_mixed(person) => (literal.end, person),
        None => return None,
    };
    let is_stand_in = STAND_INS.contains(&value.to_ascii_lowercase().as_str())
        || value.starts_with(['$', '{', '<', '%', '*', '['])
        || value.contains("${")
        || value.len() < 6
        || value.bytes().all(|byte| matches!(byte, b'*' | b'x' | b'.'));
    (!is_stand_in).then(|| from..from + value.len())
}

/// What follows `Bearer ` or `Basic `.
pub(super) fn bearer(text: &str, literal: Range<usize>) -> Option<Range<usize>> {
    let value = text
        .get(literal.end..credentials_end(text, &literal))?
        .trim_end_matches('.');
    (value.len() >= 16 && is_mixed(value)).then(|| literal.end..literal.end + value.len())
}

/// Whether what follows `Bearer ` goes on where the text ends.
pub(super) fn is_open(text: &str, literal: Range<usize>) -> bool {
    credentials_end(text, &literal) == text.len()
}

fn credentials_end(text: &str, literal: &Range<usize>) -> usize {
    let is_of = |byte: &u8| TokenAlphabet::Url.has(*byte) || *byte == b'~';
    let rest = text.as_bytes().get(literal.end..).unwrap_or_default();
    literal.end
        + rest
            .iter()
            .take(LONGEST)
            .take_while(|byte| is_of(byte))
            .count()
}

/// What follows a literal that ends with `=`, such as `AccountKey=`: only the value goes.
pub(super) fn field(text: &str, literal: Range<usize>) -> Option<Range<usize>> {
    let end = TokenAlphabet::Url.run(text, literal.end, LONGEST);
    let value = text.get(literal.end..end)?;
    (value.len() >= 40 && is_mixed(value)).then_some(literal.end..end)
}

/// A web hook: its address is enough to post to it.
pub(super) fn hook(text: &str, literal: Range<usize>) -> Option<Range<usize>> {
    let end = TokenAlphabet::Url.run(text, literal.end, LONGEST);
    let value = text.get(literal.end..end)?;
    (value.len() >= 30 && is_mixed(value)).then_some(literal.end..end)
}

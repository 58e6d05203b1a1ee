//! Secrets by key name, in assignments: `password=…`, `"api_key": "…"`, `--token …`.
//!
//! Such names are everywhere in code, so the value must be one a machine made up.

use std::ops::Range;

use super::{entropy::is_random, token::TokenAlphabet};

/// What a name may go on with behind the word that makes it secret.
const TAILS: [&str; 9] = [
    "",
    "key",
    "value",
    "token",
    "accesskey",
    "string",
    "s",
    "b64",
    "base64",
];

/// No name is longer, and no value.
const LONGEST_NAME: usize = 40;
const LONGEST_VALUE: usize = 1024;

/// The value of the assignment whose name holds this word, if it is random enough.
pub(super) fn find(text: &str, word: Range<usize>) -> Option<Range<usize>> {
    let value = value(text, value_start(text, &word)?);
    let words = text.get(value.clone())?;
    (!is_code(words, text.as_bytes().get(value.end)) && is_random(words)).then_some(value)
}

/// Whether the value, or what comes before it, goes on where the text ends.
pub(super) fn is_open(text: &str, word: Range<usize>) -> bool {
    let name_end = TokenAlphabet::Dashed.run(text, word.end, LONGEST_NAME);
    if name_end == text.len() {
        return true;
    }
    match value_start(text, &word) {
        Some(from) => value(text, from).end == text.len(),
        // Nothing but quotes and spaces so far.
        None => text.get(name_end..).is_some_and(|rest| {
            rest.len() <= 8 && rest.bytes().all(|byte| is_quote(byte) || is_space(byte))
        }),
    }
}

fn is_quote(byte: u8) -> bool {
    matches!(byte, b'"' | b'\'' | b'`' | b'\\')
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

fn is_tail(tail: &str) -> bool {
    let plain: String = tail
        .chars()
        .filter(|letter| !matches!(letter, '_' | '-'))
        .collect();
    let plain = plain.to_ascii_lowercase();
    TAILS.contains(&plain.trim_end_matches(|letter: char| letter.is_ascii_digit()))
}

/// Where the value begins: behind the name, quotes, spaces and a sign that says something is set.
fn value_start(text: &str, word: &Range<usize>) -> Option<usize> {
    let name_end = TokenAlphabet::Dashed.run(text, word.end, LONGEST_NAME);
    if !is_tail(text.get(word.end..name_end)?) {
        return None;
    }
    let name_start = TokenAlphabet::Dashed.run_back(text, word.start, LONGEST_NAME);
    let is_flag = text
        .get(name_start..word.start)
        .is_some_and(|before| before.starts_with("--"));
    let skip = |at: usize, skipped: fn(u8) -> bool| {
        let rest = text.as_bytes().get(at..).unwrap_or_default();
        at + rest
            .iter()
            .take(8)
            .take_while(|byte| skipped(**byte))
            .count()
    };
    let after_name = skip(skip(name_end, is_quote), is_space);
    let after_sign = skip(after_name, |byte| matches!(byte, b'=' | b':' | b'>'));
    if after_sign == after_name && !(is_flag && after_name > name_end) {
        return None;
    }
    Some(skip(skip(after_sign, is_space), is_quote))
}

/// The value itself: up to whatever ends it.
fn value(text: &str, from: usize) -> Range<usize> {
    let is_of = |byte: u8| {
        TokenAlphabet::Url.has(byte)
            || matches!(
                byte,
                b'~' | b'!' | b'@' | b'#' | b'$' | b'^' | b'&' | b'*' | b':'
            )
    };
    let bytes = text.as_bytes().get(from..).unwrap_or_default();
    from..from
        + bytes
            .iter()
            .take(LONGEST_VALUE)
            .take_while(|byte| is_of(**byte))
            .count()
}

/// A call, a path, a variable or an index is code, and an address is looked at elsewhere.
fn is_code(value: &str, next: Option<&u8>) -> bool {
    matches!(next, Some(b'(' | b'[' | b'{'))
        || value.starts_with(['$', '.', '&', '*', '@'])
        || is_path(value)
        || value.contains("::")
        || value.contains("://")
}

/// Base64 may begin with a slash too, but its slashes are far apart.
fn is_path(value: &str) -> bool {
    value.starts_with('/') && value.split('/').all(|step| step.len() < 24)
}

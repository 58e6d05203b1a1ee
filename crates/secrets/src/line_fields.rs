//! Secrets that a format names without a sign of assignment: a password of netrc, the value of a cookie.

use std::ops::Range;

use super::entropy::is_random;

/// How far before the word the rest of a netrc entry stands.
const ENTRY: usize = 512;

/// Pairs of one cookie header that are looked at.
const PAIRS: usize = 32;

/// The password behind `machine … login … password `.
pub(super) fn netrc(text: &str, word: Range<usize>) -> Option<Range<usize>> {
    let from = text.floor_char_boundary(word.start.saturating_sub(ENTRY));
    let before = text.get(from..word.start)?;
    let mut words = before.split_whitespace().rev().skip(1);
    let is_login = matches!(words.next(), Some("login" | "account"));
    let is_host = [words.next(), words.next()]
        .iter()
        .any(|word| matches!(word, Some("machine" | "default")));
    let is_entry = before.ends_with(char::is_whitespace) && is_login && is_host;
    let rest = text.get(word.end..)?;
    let length = rest.find(char::is_whitespace).unwrap_or(rest.len());
    let is_secret = !rest.starts_with("[redacted") && length >= 4;
    (is_entry && is_secret).then_some(word.end..word.end + length)
}

/// The first value of a cookie header that a machine made up.
pub(super) fn cookie(text: &str, word: Range<usize>) -> Option<Range<usize>> {
    let line = text.get(word.end..)?.lines().next()?;
    let mut at = word.end;
    for pair in line.split(';').take(PAIRS) {
        if let Some((name, value)) = pair.split_once('=') {
            let start = at + name.len() + 1;
            let value = value.trim_end_matches(['"', '\'', ',']);
            let length = value.find(char::is_whitespace).unwrap_or(value.len());
            if value.get(..length).is_some_and(is_random) {
                return Some(start..start + length);
            }
        }
        at += pair.len() + 1;
    }
    None
}

/// Whether the value goes on where the text ends.
pub(super) fn is_open(text: &str, word: Range<usize>) -> bool {
    text.get(word.end..)
        .is_some_and(|rest| !rest.contains('\n') && rest.len() < 4096)
}

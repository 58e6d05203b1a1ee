//! Tokens with a literal prefix of their issuer, followed by characters of a given alphabet.

use std::ops::Range;

use super::entropy::{is_mixed, is_varied};

/// What a token is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenAlphabet {
    /// Letters and digits.
    Alnum,
    /// The same, and `_`.
    Word,
    /// The same, and `-`.
    Dashed,
    /// The same, and `.`.
    Dotted,
    /// `0`–`9` and `a`–`f`.
    Hex,
    /// Capitals and digits.
    Upper,
    /// Base64, padding included.
    Base64,
    /// What may stand in a part of a URL.
    Url,
}

impl TokenAlphabet {
    pub(super) fn has(self, byte: u8) -> bool {
        match self {
            Self::Alnum => byte.is_ascii_alphanumeric(),
            Self::Word => byte.is_ascii_alphanumeric() || byte == b'_',
            Self::Dashed => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'),
            Self::Dotted => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'),
            Self::Hex => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
            Self::Upper => matches!(byte, b'0'..=b'9' | b'A'..=b'Z'),
            Self::Base64 => byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'='),
            Self::Url => {
                byte.is_ascii_alphanumeric()
                    || matches!(byte, b'_' | b'-' | b'.' | b'/' | b'%' | b'+' | b'=')
            }
        }
    }

    /// Where a run of it that begins here ends. Looks no further than `most`, so that a text made of
    /// nothing but beginnings costs no more than its length times that.
    pub(super) fn run(self, text: &str, from: usize, most: usize) -> usize {
        let rest = text.as_bytes().get(from..).unwrap_or_default();
        from + rest
            .iter()
            .take(most)
            .take_while(|byte| self.has(**byte))
            .count()
    }

    /// Where a run of it that ends here begins, no further back than `most`.
    pub(super) fn run_back(self, text: &str, to: usize, most: usize) -> usize {
        let before = text.as_bytes().get(..to).unwrap_or_default();
        to - before
            .iter()
            .rev()
            .take(most)
            .take_while(|byte| self.has(**byte))
            .count()
    }
}

/// The token whose literal is here, if what follows it is long enough and mixed.
pub(super) fn find(
    text: &str,
    literal: Range<usize>,
    alphabet: TokenAlphabet,
    length: &Range<usize>,
) -> Option<Range<usize>> {
    if !begins_here(text, literal.start) {
        return None;
    }
    let end = alphabet.run(text, literal.end, length.end);
    let body = text.get(literal.end..end)?;
    // A sentence may end right behind it.
    let body = body.trim_end_matches(['.', '-']);
    // Keys in capitals may have no digit: of 16 characters one in thirty has none.
    let is_made_up = is_mixed(body) || (alphabet == TokenAlphabet::Upper && is_varied(body));
    (length.contains(&body.len()) && is_made_up).then(|| literal.start..literal.end + body.len())
}

/// Whether a word may begin here. Escapes of JSON, URLs and terminals end in letters too.
pub(super) fn begins_here(text: &str, at: usize) -> bool {
    let before = text.as_bytes().get(..at).unwrap_or_default();
    match before {
        [] => true,
        [.., last] if !last.is_ascii_alphanumeric() => true,
        [.., b'\\', b'n' | b'r' | b't'] => true,
        [.., b'%', high, low] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => true,
        [.., b'm'] => is_colour(before),
        _ => false,
    }
}

/// Whether this ends with the sequence that sets a colour.
fn is_colour(before: &[u8]) -> bool {
    let digits = before
        .iter()
        .rev()
        .skip(1)
        .take(20)
        .take_while(|byte| byte.is_ascii_digit() || **byte == b';');
    let length = digits.count() + 1;
    before
        .len()
        .checked_sub(length)
        .and_then(|at| before.get(..at))
        .is_some_and(|head| head.ends_with(b"\x1b["))
}

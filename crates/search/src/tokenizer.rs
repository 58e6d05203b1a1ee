//! Tokenizer: splits text into search terms; identifiers are split, lowercased, stemmed and hashed.
//!
//! A word is kept as 32 bits. The index needs no dictionary then, files can be read on any thread
//! without agreeing on numbers, and two words that fall together cost an odd hit now and then.

use super::stem::stem;

/// A word as the index knows it.
pub(super) type Term = u32;

/// Longer runs of letters are data, not words.
const LONGEST: usize = 120;

/// Identifiers of more parts are sentences; users do not type them as one word.
const WHOLE_PARTS: usize = 6;

/// Words that are in every text and say nothing about it. Sorted.
const EMPTY: [&str; 58] = [
    "a", "an", "and", "any", "are", "as", "at", "be", "been", "but", "by", "can", "could", "did",
    "do", "does", "for", "from", "had", "has", "have", "how", "i", "if", "in", "into", "is", "it",
    "its", "let", "may", "mut", "my", "no", "not", "of", "on", "or", "our", "pub", "self",
    "should", "so", "that", "the", "their", "then", "there", "these", "this", "to", "was", "we",
    "were", "what", "when", "where", "which",
];

/// What a word was in its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenShape {
    /// A word, or a part of an identifier.
    Part,
    /// An identifier of several parts, as one.
    Whole,
}

/// Splits text into words. Keeps its buffers: millions of words go through one of these.
#[derive(Default)]
pub(super) struct WordSplitter {
    part: String,
    whole: String,
}

impl WordSplitter {
    /// Gives every word of a text to `take`, in order; an identifier as a whole comes after its parts.
    pub fn each(&mut self, text: &str, mut take: impl FnMut(Term, TokenShape)) {
        let is_between = |letter: char| !letter.is_alphanumeric() && letter != '_';
        let is_word =
            |token: &&str| !token.is_empty() && (token.len() <= LONGEST || !token.is_ascii());
        for token in text.split(is_between).filter(is_word) {
            let count = parts(token)
                .inspect(|part| self.take_part(part, &mut take))
                .count();
            if (2..=WHOLE_PARTS).contains(&count) {
                self.whole.clear();
                self.whole.extend(
                    token
                        .chars()
                        .filter(|letter| *letter != '_')
                        .flat_map(char::to_lowercase),
                );
                take(whole_term(&self.whole), TokenShape::Whole);
            }
        }
    }

    fn take_part(&mut self, part: &str, take: &mut impl FnMut(Term, TokenShape)) {
        if part.len() < 2 {
            return;
        }
        self.part.clear();
        if part.is_ascii() {
            self.part.push_str(part);
            self.part.make_ascii_lowercase();
        } else {
            self.part.extend(part.chars().flat_map(char::to_lowercase));
        }
        if !is_stop_word(&self.part) {
            stem(&mut self.part);
            take(hash(&self.part, 0), TokenShape::Part);
        }
    }
}

/// Whether a word in lower case says nothing.
pub(super) fn is_stop_word(word: &str) -> bool {
    word.len() <= size_of::<u64>() && PACKED.binary_search(&packed(word)).is_ok()
}

/// The empty words as numbers, in the same order: every word of a repository is compared with them.
#[expect(clippy::indexing_slicing, reason = "a wrong index would not compile")]
const PACKED: [u64; EMPTY.len()] = {
    let mut all = [0; EMPTY.len()];
    let mut at = 0;
    while at < EMPTY.len() {
        all[at] = packed(EMPTY[at]);
        at += 1;
    }
    all
};

/// A word of at most eight bytes as a number that sorts like it.
const fn packed(word: &str) -> u64 {
    let mut bytes = word.as_bytes();
    let mut number: u64 = 0;
    let mut count = 0;
    while let [first, rest @ ..] = bytes {
        number = number << 8 | *first as u64;
        bytes = rest;
        count += 1;
    }
    if count == 0 {
        0
    } else {
        number << (8 * (8 - count))
    }
}

/// The term of one plain word in lower case.
pub(super) fn term(word: &str) -> Term {
    let mut word = word.to_owned();
    stem(&mut word);
    hash(&word, 0)
}

/// The term of an identifier as a whole, in lower case and without what joins its parts.
pub(super) fn whole_term(identifier: &str) -> Term {
    hash(identifier, 1)
}

/// The parts of an identifier: `HTTPServer` is HTTP and Server, `utf8_len` is utf, 8 and len.
pub(super) fn parts(token: &str) -> impl Iterator<Item = &str> {
    let mut rest = token;
    std::iter::from_fn(move || {
        rest = rest.trim_start_matches('_');
        let (part, after) = rest.split_at_checked(part_length(rest))?;
        rest = after;
        (!part.is_empty()).then_some(part)
    })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum TokenCharClass {
    Lower,
    Upper,
    Digit,
    Joint,
    /// A letter of a script that puts no blanks between words; each is a part of its own.
    Sign,
}

fn class(letter: char) -> TokenCharClass {
    match letter {
        '_' => TokenCharClass::Joint,
        'a'..='z' => TokenCharClass::Lower,
        'A'..='Z' => TokenCharClass::Upper,
        '\u{2e80}'..='\u{d7ff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}' => {
            TokenCharClass::Sign
        }
        _ if letter.is_numeric() => TokenCharClass::Digit,
        _ if letter.is_uppercase() => TokenCharClass::Upper,
        _ => TokenCharClass::Lower,
    }
}

fn part_length(text: &str) -> usize {
    let mut letters = text.char_indices().map(|(at, letter)| (at, class(letter)));
    let Some((_, mut before)) = letters.next() else {
        return 0;
    };
    // Where the last capital of a run stands: it belongs to what follows if that is small.
    let mut last_capital = 0;
    for (at, now) in letters {
        match (before, now) {
            (_, TokenCharClass::Joint | TokenCharClass::Sign)
            | (TokenCharClass::Sign, _)
            | (TokenCharClass::Lower, TokenCharClass::Upper) => return at,
            (TokenCharClass::Digit, TokenCharClass::Lower | TokenCharClass::Upper)
            | (TokenCharClass::Lower | TokenCharClass::Upper, TokenCharClass::Digit) => {
                return at;
            }
            (TokenCharClass::Upper, TokenCharClass::Lower) if last_capital > 0 => {
                return last_capital;
            }
            _ => {}
        }
        if now == TokenCharClass::Upper {
            last_capital = at;
        }
        before = now;
    }
    text.len()
}

/// FNV-1a with a last stir. Part of the format of stored indexes.
fn hash(word: &str, seed: u32) -> Term {
    let mut hash = 0x811c_9dc5 ^ seed;
    for byte in word.bytes() {
        hash = (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    }
    hash = (hash ^ (hash >> 16)).wrapping_mul(0x85eb_ca6b);
    hash ^ (hash >> 13)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_fall_into_their_parts() {
        let table = [
            ("HTTPServer", "HTTP Server"),
            ("parseJSONBody", "parse JSON Body"),
            ("retry_after", "retry after"),
            ("__init__", "init"),
            ("MAX_RETRIES", "MAX RETRIES"),
            ("utf8Len", "utf 8 Len"),
            ("sha256", "sha 256"),
            ("X509Certificate", "X 509 Certificate"),
            ("größeÄndern", "größe Ändern"),
            ("日本語text", "日 本 語 text"),
            ("ABC", "ABC"),
            ("aB", "a B"),
            ("_", ""),
        ];
        for (token, expected) in table {
            assert_eq!(
                parts(token).collect::<Vec<_>>().join(" "),
                expected,
                "{token}"
            );
        }
    }

    #[test]
    fn the_list_of_empty_words_is_sorted() {
        assert!(EMPTY.is_sorted() && PACKED.is_sorted());
        assert!(EMPTY.iter().all(|word| is_stop_word(word)));
        assert!(
            !["", "retry", "th", "them", "whichever", "should_"]
                .iter()
                .any(|word| is_stop_word(word))
        );
    }

    #[test]
    fn text_and_identifiers_meet_in_the_same_terms() {
        let terms = |text: &str| {
            let mut found = Vec::new();
            WordSplitter::default().each(text, |term, shape| found.push((term, shape)));
            found
        };
        let of = |word: &str| (term(word), TokenShape::Part);
        assert_eq!(
            terms("the retries are handled"),
            [of("retry"), of("handle")]
        );
        assert_eq!(
            terms("handleRetry(x)"),
            [
                of("handle"),
                of("retry"),
                (whole_term("handleretry"), TokenShape::Whole)
            ]
        );
        assert_eq!(terms(&"x".repeat(5000)), []);
    }
}

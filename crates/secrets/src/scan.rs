//! Scans for secrets by pattern: one pass for all literals, then a closer check at each match.

use std::{
    ops::Range,
    sync::{Arc, LazyLock},
};

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

use super::{
    SecretMatch,
    patterns::{PatternRule, SHAPES, SecretPattern},
    token,
};

/// All literals of all shapes, made once per process.
static LITERALS: LazyLock<Option<PatternLiterals>> = LazyLock::new(PatternLiterals::new);

struct PatternLiterals {
    search: AhoCorasick,
    /// The shape of each literal, by the literal's number.
    shapes: Vec<&'static SecretPattern>,
    /// The shapes' names, shared by all that is found.
    names: Vec<Arc<str>>,
}

impl PatternLiterals {
    fn new() -> Option<Self> {
        let all = || {
            SHAPES
                .iter()
                .flat_map(|shape| shape.literals.iter().map(move |literal| (*literal, shape)))
        };
        let search = AhoCorasick::builder()
            .match_kind(MatchKind::Standard)
            .kind(Some(AhoCorasickKind::ContiguousNFA))
            .build(all().map(|(literal, _)| literal))
            .ok()?;
        let shapes: Vec<&'static SecretPattern> = all().map(|(_, shape)| shape).collect();
        let names = shapes.iter().map(|shape| shape.name.into()).collect();
        Some(Self {
            search,
            shapes,
            names,
        })
    }
}

/// Adds what has the shape of a secret.
pub(super) fn find(text: &str, found: &mut Vec<SecretMatch>) {
    let Some(literals) = LITERALS.as_ref() else {
        return;
    };
    for hit in literals.search.find_overlapping_iter(text) {
        let number = hit.pattern().as_usize();
        let (Some(shape), Some(name)) = (literals.shapes.get(number), literals.names.get(number))
        else {
            continue;
        };
        if let Some(place) = look(text, hit.range(), shape) {
            found.push(SecretMatch {
                place,
                name: name.clone(),
                rank: 1 + number,
            });
        }
    }
}

fn look(text: &str, literal: Range<usize>, shape: &SecretPattern) -> Option<Range<usize>> {
    match &shape.rule {
        PatternRule::Token(alphabet, length) => token::find(text, literal, *alphabet, length),
        PatternRule::Around(find) | PatternRule::Spread { find, .. } => find(text, literal),
    }
}

/// From where on more text could still make a secret of what is there.
pub(super) fn open_from(text: &str) -> usize {
    let Some(literals) = LITERALS.as_ref() else {
        return text.len();
    };
    let word = last_word(text);
    let mut open = if is_odd(text, word) { word } else { text.len() };
    for hit in literals.search.find_overlapping_iter(text) {
        let Some(shape) = literals.shapes.get(hit.pattern().as_usize()) else {
            continue;
        };
        let is_open = match shape.rule {
            // A secret of one word is complete when another word has begun.
            PatternRule::Token(..) | PatternRule::Around(_) => hit.end() > word,
            PatternRule::Spread { is_open, .. } => is_open(text, hit.range()),
        };
        if is_open {
            open = open.min(hit.start());
        }
    }
    open
}

/// Whether the last word has something of a key: digits or signs, or no end.
fn is_odd(text: &str, from: usize) -> bool {
    let word = text.as_bytes().get(from..).unwrap_or_default();
    let is_sign = |byte: &u8| {
        byte.is_ascii_digit() || matches!(byte, b'-' | b'_' | b':' | b'=' | b'/' | b'%')
    };
    word.len() > 24 || word.iter().any(is_sign)
}

/// Where the last word begins.
fn last_word(text: &str) -> usize {
    text.bytes()
        .rposition(|byte| byte.is_ascii_whitespace())
        .map_or(0, |at| at + 1)
}

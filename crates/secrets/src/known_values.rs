//! Finds secrets by value: the keys this process was given, however they are written.

use std::sync::Arc;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

use super::{SecretMatch, encodings, joined_text};

/// How many bytes of a form are searched for.
const SEARCHED: usize = 8;

/// A line of a value that is so long is as secret as all of it.
const TELLING_LINE: usize = 24;

/// Values and all their forms.
pub(super) struct KnownValues {
    search: AhoCorasick,
    forms: Vec<String>,
    /// Whose value each form is.
    names: Vec<Arc<str>>,
}

impl KnownValues {
    /// None if there is nothing to look for.
    pub(super) fn new(values: impl Iterator<Item = (String, String)>) -> Option<Self> {
        let (mut all, mut names) = (Vec::new(), Vec::new());
        for (name, value) in values {
            let name: Arc<str> = name.as_str().into();
            // Lines of a key may come apart: numbered, quoted, one without the others.
            let lines = value
                .lines()
                .filter(|line| line.len() >= TELLING_LINE && line.len() < value.trim().len());
            for form in encodings::of(value.trim())
                .into_iter()
                .chain(lines.flat_map(encodings::of))
            {
                all.push(form);
                names.push(name.clone());
            }
        }
        if all.is_empty() {
            return None;
        }
        // Only beginnings are searched for: that keeps the automaton small, and the rest is compared.
        let beginnings = all
            .iter()
            .map(|form| form.as_bytes().get(..SEARCHED).unwrap_or(form.as_bytes()));
        let search = AhoCorasick::builder()
            .match_kind(MatchKind::Standard)
            .kind(Some(AhoCorasickKind::ContiguousNFA))
            .build(beginnings)
            .ok()?;
        Some(Self {
            search,
            forms: all,
            names,
        })
    }

    /// Adds every value, also one that lines or the columns of a hexdump break apart.
    pub(super) fn find(&self, text: &str, found: &mut Vec<SecretMatch>) {
        self.find_whole(text, found);
        if let Some(view) = joined_text::lines(text) {
            let mut apart = Vec::new();
            self.find_whole(&view.text, &mut apart);
            found.extend(apart.into_iter().filter_map(|one| {
                Some(SecretMatch {
                    place: view.place(&one.place)?,
                    ..one
                })
            }));
        }
        if let Some(view) = joined_text::hexdump(text) {
            let mut apart = Vec::new();
            self.find_whole(&view.text, &mut apart);
            found.extend(apart.into_iter().filter_map(|one| {
                // The characters beside the digits go too.
                let place = view.place(&one.place)?;
                let start = text.get(..place.start)?.rfind('\n').map_or(0, |at| at + 1);
                let end = text
                    .get(place.end..)?
                    .find('\n')
                    .map_or(text.len(), |at| place.end + at);
                Some(SecretMatch {
                    place: start..end,
                    ..one
                })
            }));
        }
    }

    fn find_whole(&self, text: &str, found: &mut Vec<SecretMatch>) {
        for hit in self.search.find_overlapping_iter(text) {
            let number = hit.pattern().as_usize();
            let (Some(form), Some(name)) = (self.forms.get(number), self.names.get(number)) else {
                continue;
            };
            // A form is text, so where it begins and ends characters do.
            if text
                .get(hit.start()..)
                .is_some_and(|rest| rest.starts_with(form.as_str()))
            {
                let place = hit.start()..hit.start() + form.len();
                found.push(SecretMatch {
                    place,
                    name: name.clone(),
                    rank: 0,
                });
            }
        }
    }

    /// From where on more text could still make a value of what is there. What was `told` is out.
    pub(super) fn open_from(&self, text: &str, told: usize) -> usize {
        let untold = text.as_bytes().get(told..).unwrap_or_default();
        let longest = self
            .forms
            .iter()
            .filter_map(|form| beginning_at_end(untold, form.as_bytes()));
        let mut open = text.len() - longest.max().unwrap_or(0);
        while !text.is_char_boundary(open) {
            open -= 1;
        }
        open
    }
}

/// How much of a form's beginning, short of all of it, a text ends with.
fn beginning_at_end(text: &[u8], form: &[u8]) -> Option<usize> {
    let last = text.last()?;
    (1..form.len().min(text.len() + 1)).rev().find(|length| {
        // The last byte alone settles most of them.
        form.get(length - 1) == Some(last)
            && form
                .get(..*length)
                .is_some_and(|start| text.ends_with(start))
    })
}

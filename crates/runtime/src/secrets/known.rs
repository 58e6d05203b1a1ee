//! Finds secrets by value: the keys this process was given, however they are written.

use std::sync::Arc;

use aho_corasick::{AhoCorasick, MatchKind};

use super::{Found, forms};

/// Values and all their forms.
pub(super) struct Known {
    search: AhoCorasick,
    forms: Vec<String>,
    /// Whose value each form is.
    names: Vec<Arc<str>>,
}

impl Known {
    /// None if there is nothing to look for.
    pub(super) fn new(values: impl Iterator<Item = (String, String)>) -> Option<Self> {
        let (mut all, mut names) = (Vec::new(), Vec::new());
        for (name, value) in values {
            let name: Arc<str> = name.as_str().into();
            for form in forms::of(value.trim()) {
                all.push(form);
                names.push(name.clone());
            }
        }
        if all.is_empty() {
            return None;
        }
        let search = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(&all).ok()?;
        Some(Self { search, forms: all, names })
    }

    pub(super) fn find(&self, text: &str, found: &mut Vec<Found>) {
        for hit in self.search.find_iter(text) {
            if let Some(name) = self.names.get(hit.pattern().as_usize())
                && text.is_char_boundary(hit.start())
                && text.is_char_boundary(hit.end())
            {
                found.push(Found { place: hit.range(), name: name.clone(), rank: 0 });
            }
        }
    }

    /// From where on more text could still make a value of what is there.
    pub(super) fn open_from(&self, text: &str) -> usize {
        let longest = self.forms.iter().filter_map(|form| beginning_at_end(text.as_bytes(), form.as_bytes()));
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
    (1..form.len()).rev().find(|length| {
        // The last byte alone settles most of them.
        form.get(length - 1) == Some(last) && form.get(..*length).is_some_and(|start| text.ends_with(start))
    })
}

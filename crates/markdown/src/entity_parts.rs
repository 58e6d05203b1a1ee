//! Splits a document with entities into parts of a message's length: at block ends, lines, spaces, in that order.

use std::ops::Range;

use crate::{
    entity_document::{EntityDocument, UnitCounts},
    entity_types::{EntityKind, PartLimit},
};

/// A cut of a better kind is taken if the part is at least this share of its limit (1/4).
const LEAST_SHARE: usize = 4;

/// The byte ranges of the parts, none of them blank.
pub(crate) fn divide(document: &EntityDocument, limit: PartLimit) -> Vec<Range<usize>> {
    let splitter = PartSplitter {
        document,
        units: UnitCounts::of(&document.text),
        limit,
    };
    let mut ranges = Vec::new();
    let mut start = 0;
    while start < document.text.len() {
        let end = splitter.end_after(start);
        let kept = splitter.without_trailing_space(start, end);
        if splitter
            .text(start, kept)
            .chars()
            .any(|letter| !letter.is_whitespace())
        {
            ranges.push(start..kept);
        }
        start = splitter.next_start(kept, end);
    }
    ranges
}

struct PartSplitter<'document> {
    document: &'document EntityDocument,
    units: UnitCounts,
    limit: PartLimit,
}

impl PartSplitter<'_> {
    fn text(&self, start: usize, end: usize) -> &str {
        self.document.text.get(start..end).unwrap_or_default()
    }

    /// Where the part that begins at `start` ends.
    fn end_after(&self, start: usize) -> usize {
        let last = self.last_end(start);
        if last >= self.document.text.len() {
            return self.document.text.len();
        }
        let least = start + (last - start) / LEAST_SHARE;
        let found = [least, start]
            .into_iter()
            .find_map(|least| self.good_cut(start, least, last));
        found.unwrap_or_else(|| self.hard_cut(start, last))
    }

    /// The furthest end that keeps the limits.
    fn last_end(&self, start: usize) -> usize {
        let units = self.limit.units.max(2);
        let by_units = self.units.byte_at(self.units.before(start) + units);
        let mut inside = self
            .document
            .spans
            .iter()
            .filter(|span| span.range.end > start);
        match inside.nth(self.limit.entities) {
            Some(span) if span.range.start > start => by_units.min(span.range.start),
            _ => by_units,
        }
    }

    /// The best place behind `least` and not behind `last`: an empty line, a block end, a line end, a space.
    fn good_cut(&self, start: usize, least: usize, last: usize) -> Option<usize> {
        let block = |gap: usize| {
            let mut ends = self.document.ends.iter().rev();
            let is_fit = |at: usize| at > least && at <= last;
            let found = ends.find(|end| end.gap >= gap && is_fit(end.at) && self.is_free(end.at));
            found.map(|end| end.at)
        };
        let letter = |mark: char| {
            // The mark itself may stand behind the limit, because it is left out.
            let text = &self.document.text;
            let window = text
                .get(start..last + 1)
                .or_else(|| text.get(start..last))?;
            let found = window.rmatch_indices(mark).map(|(at, _)| start + at);
            found
                .take_while(|at| *at > least)
                .find(|at| *at <= last && self.is_free(*at))
        };
        block(2)
            .or_else(|| block(1))
            .or_else(|| letter('\n'))
            .or_else(|| letter(' '))
    }

    /// Whether a cut there divides no link.
    fn is_free(&self, at: usize) -> bool {
        self.link_around(at).is_none()
    }

    fn link_around(&self, at: usize) -> Option<usize> {
        let spans = self.document.spans.iter();
        let mut links = spans.filter(|span| matches!(span.kind, EntityKind::Link { .. }));
        let around = links.find(|span| span.range.start < at && at < span.range.end);
        around.map(|span| span.range.start)
    }

    /// A cut where nothing is good: before a link, else between two characters that do not join.
    fn hard_cut(&self, start: usize, last: usize) -> usize {
        if let Some(link) = self.link_around(last).filter(|link| *link > start) {
            return link;
        }
        let window = self.text(start, last);
        let behind = self.text(last, self.document.text.len()).chars().next();
        let mut next = behind;
        for (at, letter) in window.char_indices().rev().take(32) {
            if !joins(letter, next) {
                return start + at + letter.len_utf8();
            }
            next = Some(letter);
        }
        last.max(start + 1)
    }

    /// The end without the white space that a cut leaves out: spaces, then line ends.
    fn without_trailing_space(&self, start: usize, end: usize) -> usize {
        if end == self.document.text.len() {
            return start + self.text(start, end).trim_end().len();
        }
        start + self.text(start, end).trim_end_matches([' ', '\n']).len()
    }

    /// Where the next part begins: behind line ends, or behind spaces if the cut is between words. Spaces at the begin of
    /// a line stay, because they may be the indentation of code.
    fn next_start(&self, kept: usize, end: usize) -> usize {
        let gap = self.text(kept, self.document.text.len());
        let spaces = gap.len() - gap.trim_start_matches(' ').len();
        let rest = gap.get(spaces..).unwrap_or_default();
        let mut at = kept + spaces;
        if rest.starts_with('\n') {
            // Blank lines are left out too.
            let blank = gap.len() - gap.trim_start_matches([' ', '\n']).len();
            let lines = gap.get(..blank).and_then(|blank| blank.rfind('\n'));
            at = kept + lines.map_or(0, |line| line + 1);
        }
        at.max(end)
    }
}

/// Whether two characters are shown as one, as far as their kinds tell.
fn joins(letter: char, next: Option<char>) -> bool {
    let is_joined = matches!(
        next,
        Some(
            '\u{200d}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{1f3fb}'..='\u{1f3ff}'
            | '\u{300}'..='\u{36f}'
            | '\u{20e3}',
        )
    );
    let is_flag = |letter: char| matches!(letter, '\u{1f1e6}'..='\u{1f1ff}');
    letter == '\u{200d}' || is_joined || (is_flag(letter) && next.is_some_and(is_flag))
}

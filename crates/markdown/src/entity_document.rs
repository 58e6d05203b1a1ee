//! The document that entities are taken from: visible text, formatted byte ranges, and block ends where it can be cut.

use std::ops::Range;

use crate::entity_types::{EntityKind, EntityText, TextEntity};

/// Text, formatting and places to cut, all in bytes.
#[derive(Debug, Default)]
pub(crate) struct EntityDocument {
    pub(crate) text: String,
    /// Ordered by their begin, outer ones first.
    pub(crate) spans: Vec<EntitySpan>,
    /// Ends of blocks, in order.
    pub(crate) ends: Vec<BlockEnd>,
}

#[derive(Clone, Debug)]
pub(crate) struct EntitySpan {
    pub(crate) kind: EntityKind,
    pub(crate) range: Range<usize>,
}

/// Where a block ends and how much it is apart from the next: 2 is an empty line, 1 a new line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockEnd {
    pub(crate) at: usize,
    pub(crate) gap: usize,
}

impl EntityDocument {
    /// Sorts the spans and makes them nested or apart: no formatting stands in code, no code in a link.
    pub(crate) fn finish(&mut self) {
        let spans = std::mem::take(&mut self.spans);
        let (code, rest): (Vec<_>, Vec<_>) = spans
            .into_iter()
            .filter_map(|span| self.trimmed(span))
            .partition(|span| is_code(&span.kind));
        let in_link = |span: &EntitySpan| {
            let is_around = |link: &EntitySpan| {
                matches!(link.kind, EntityKind::Link { .. })
                    && link.range.start <= span.range.start
                    && span.range.end <= link.range.end
            };
            rest.iter().any(is_around)
        };
        let code: Vec<EntitySpan> = code.into_iter().filter(|span| !in_link(span)).collect();
        let styled = rest.into_iter().flat_map(|span| without(span, &code));
        self.spans = styled.filter_map(|span| self.trimmed(span)).collect();
        self.spans.extend(code);
        self.spans
            .sort_by_key(|span| (span.range.start, usize::MAX - span.range.end));
    }

    /// The text of a range, with the formatting in it.
    pub(crate) fn part(&self, range: Range<usize>) -> EntityText {
        let text = self.text.get(range.clone()).unwrap_or_default().to_owned();
        let units = UnitCounts::of(&text);
        let last = self
            .spans
            .partition_point(|span| span.range.start < range.end);
        let inside = self.spans.iter().take(last).filter_map(|span| {
            let start = span.range.start.max(range.start);
            let end = span.range.end.min(range.end);
            let span = (start < end).then(|| EntitySpan {
                kind: span.kind.clone(),
                range: start..end,
            })?;
            let span = self.trimmed(span)?;
            let offset = units.before(span.range.start - range.start);
            Some(TextEntity {
                kind: span.kind,
                offset,
                length: units.before(span.range.end - range.start) - offset,
            })
        });
        let entities = inside.collect();
        EntityText { text, entities }
    }

    /// The span without white space at its ends, which platforms refuse or move; none if nothing is left. In code blocks
    /// white space before the first character stays.
    fn trimmed(&self, span: EntitySpan) -> Option<EntitySpan> {
        let text = self.text.get(span.range.clone())?;
        let kept = text.trim_end();
        let front = match span.kind {
            EntityKind::Pre { .. } => text.len() - text.trim_start_matches('\n').len(),
            _ => text.len() - text.trim_start().len(),
        };
        let (start, end) = (span.range.start + front, span.range.start + kept.len());
        (start < end).then_some(EntitySpan {
            kind: span.kind,
            range: start..end,
        })
    }
}

fn is_code(kind: &EntityKind) -> bool {
    matches!(kind, EntityKind::Code | EntityKind::Pre { .. })
}

/// What is left of a span outside of code. A quote may hold code, and a link holds none.
fn without(span: EntitySpan, code: &[EntitySpan]) -> Vec<EntitySpan> {
    if matches!(span.kind, EntityKind::Quote | EntityKind::Link { .. }) {
        return vec![span];
    }
    let mut left = Vec::new();
    let mut start = span.range.start;
    let first = code.partition_point(|hole| hole.range.end <= start);
    let holes = code.iter().skip(first);
    for hole in holes.take_while(|hole| hole.range.start < span.range.end) {
        left.push((start, hole.range.start));
        start = hole.range.end;
    }
    left.push((start, span.range.end));
    let is_some = |(start, end): &(usize, usize)| start < end;
    let spans = left.into_iter().filter(is_some);
    spans
        .map(|(start, end)| EntitySpan {
            kind: span.kind.clone(),
            range: start..end,
        })
        .collect()
}

/// UTF-16 units before each byte of a text.
pub(crate) struct UnitCounts(Vec<usize>);

impl UnitCounts {
    pub(crate) fn of(text: &str) -> Self {
        let mut counts = Vec::with_capacity(text.len() + 1);
        let mut units = 0;
        for letter in text.chars() {
            counts.extend(std::iter::repeat_n(units, letter.len_utf8()));
            units += letter.len_utf16();
        }
        counts.push(units);
        Self(counts)
    }

    pub(crate) fn before(&self, byte: usize) -> usize {
        let last = self.0.last().copied().unwrap_or_default();
        self.0.get(byte).copied().unwrap_or(last)
    }

    /// The last character boundary with at most so many units before it.
    pub(crate) fn byte_at(&self, units: usize) -> usize {
        let after = self.0.partition_point(|count| *count <= units);
        // The bytes of one character have the same count: its first byte is the boundary.
        let at = after.saturating_sub(1);
        let count = self.before(at);
        self.0.partition_point(|other| *other < count)
    }
}

//! Joins text that is broken across lines: without line ends and indentation, and without the columns of a hexdump.
//!
//! A view keeps for each of its bytes where it stood, so that what is found in it can be removed from the text.

use std::ops::Range;

/// A text in which values are whole again.
pub(super) struct JoinedText {
    pub(super) text: String,
    /// Where each byte of it stood.
    places: Vec<usize>,
}

impl JoinedText {
    fn new(length: usize) -> Self {
        Self {
            text: String::with_capacity(length),
            places: Vec::with_capacity(length),
        }
    }

    fn push(&mut self, letter: char, at: usize) {
        self.text.push(letter);
        self.places
            .extend((0..letter.len_utf8()).map(|byte| at + byte));
    }

    /// Where a part of the view stood in the text.
    pub(super) fn place(&self, part: &Range<usize>) -> Option<Range<usize>> {
        let (first, last) = (
            self.places.get(part.start)?,
            self.places.get(part.end.checked_sub(1)?)?,
        );
        Some(*first..last + 1)
    }
}

/// The lines of a text as one, each without its indentation and a backslash that says that it goes on.
pub(super) fn lines(text: &str) -> Option<JoinedText> {
    if !text.contains('\n') {
        return None;
    }
    let mut view = JoinedText::new(text.len());
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let words = line.trim().trim_end_matches('\\');
        let at = start + (line.len() - line.trim_start().len());
        words
            .char_indices()
            .for_each(|(offset, letter)| view.push(letter, at + offset));
        start += line.len();
    }
    Some(view)
}

/// The hexadecimal digits of the lines of `xxd`, `hexdump -C` or `od`, as one.
pub(super) fn hexdump(text: &str) -> Option<JoinedText> {
    let mut view = JoinedText::new(text.len() / 2);
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        if let Some((from, digits)) = columns(line) {
            let is_digit = |(_, letter): &(usize, char)| letter.is_ascii_hexdigit();
            let digits = digits.char_indices().filter(is_digit);
            digits.for_each(|(offset, letter)| {
                view.push(letter.to_ascii_lowercase(), start + from + offset)
            });
        }
        start += line.len();
    }
    (!view.text.is_empty()).then_some(view)
}

/// The part of a line between its offset and the characters it stands for.
fn columns(line: &str) -> Option<(usize, &str)> {
    let offset = line.find(|letter: char| !letter.is_ascii_hexdigit())?;
    let rest = line.get(offset..)?;
    let gap = rest.len() - rest.trim_start_matches([':', ' ', '\t']).len();
    let is_dump = (6..=16).contains(&offset) && gap > 0;
    let from = offset + gap;
    let digits = line.get(from..)?;
    let is_of = |letter: char| letter.is_ascii_hexdigit() || letter == ' ';
    let end = digits.find(|letter| !is_of(letter)).unwrap_or(digits.len());
    let digits = digits.get(..end)?;
    // Two spaces and then something else: the characters. `hexdump -C` has two spaces in the middle too.
    let shown = digits
        .rfind("  ")
        .filter(|at| *at > 36 || !line.contains('|'))
        .unwrap_or(end);
    is_dump.then(|| (from, digits.get(..shown).unwrap_or(digits)))
}

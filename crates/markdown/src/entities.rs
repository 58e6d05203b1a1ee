//! Renders Markdown as text with entities: visible text and ranges of formatting, counted in UTF-16 units.
//!
//! Chat platforms take this form instead of markup, so no text can be refused for its syntax. [`to_parts`] divides a long
//! text into messages; see there what is promised.

use crate::{
    entity_parts::divide,
    entity_types::{EntityText, PartLimit},
    entity_writer::write,
};

/// Renders a whole text as one part, however long it is.
pub fn to_entities(markdown: &str) -> EntityText {
    let document = write(markdown);
    document.part(0..document.text.len())
}

/// Renders a text as parts within a limit.
///
/// Parts end at the end of a block if one is near, else at the end of a line, at a space, or, in a word that is longer
/// than a part, between two characters. Formatting that reaches over a cut is closed and opened again; a link is cut only
/// if it alone is longer than a part. Between two parts only white space is left out: empty lines or one line end where
/// the cut is between lines, spaces where it is between words.
pub fn to_parts(markdown: &str, limit: PartLimit) -> Vec<EntityText> {
    let document = write(markdown);
    divide(&document, limit)
        .into_iter()
        .map(|range| document.part(range))
        .collect()
}

//! Types of text with entities: visible text, ranges of formatting in UTF-16 units, limits of a part.

/// Visible text and its formatting.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EntityText {
    pub text: String,
    /// Ordered by offset, outer ones first. Ranges are nested or apart, never empty.
    pub entities: Vec<TextEntity>,
}

/// Formatting of a range of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextEntity {
    pub kind: EntityKind,
    /// Where it begins, in UTF-16 units.
    pub offset: usize,
    /// How long it is, in UTF-16 units.
    pub length: usize,
}

/// What the formatting of a range is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EntityKind {
    Bold,
    Italic,
    Strikethrough,
    Code,
    /// A code block or a table.
    Pre {
        language: Option<String>,
    },
    Link {
        url: String,
    },
    Quote,
}

/// How long a part may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartLimit {
    /// UTF-16 units of its text.
    pub units: usize,
    /// Entities in it.
    pub entities: usize,
}

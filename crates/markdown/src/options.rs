//! Options of rendered lines: the width, and whether styles are shown by colours or by marks.

/// Narrowest width that is kept to.
const LEAST_COLUMNS: usize = 20;

/// How lines are rendered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineOptions {
    /// Columns of the terminal. Only code may be wider.
    pub columns: usize,
    pub marks: StyleMarks,
}

impl LineOptions {
    /// So many columns, at least 20; styles are shown by colours.
    pub fn new(columns: usize) -> Self {
        Self {
            columns: columns.max(LEAST_COLUMNS),
            marks: StyleMarks::Hidden,
        }
    }

    /// The same for output without colours: `**strong**` and `` `code` `` keep their marks.
    pub fn without_colours(self) -> Self {
        Self {
            marks: StyleMarks::Shown,
            ..self
        }
    }
}

/// Whether the marks of inline styles are part of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StyleMarks {
    /// The style of the span says it.
    Hidden,
    /// Styles are not visible: the marks say it.
    Shown,
}

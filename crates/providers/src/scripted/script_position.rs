//! Positions and errors in a script: line and column, and what is wrong there.

use rooftree_protocol::{ErrorCode, Problem};

/// A line and a column, both counted from one. Zero means: built in Rust, not from a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ScriptPosition {
    pub(crate) line: usize,
    pub(crate) column: usize,
}

impl ScriptPosition {
    /// The position of a byte in a text. Columns count characters, as editors do.
    pub(crate) fn of(text: &str, offset: usize) -> Self {
        let before = text.get(..offset).unwrap_or(text);
        let line = before.matches('\n').count() + 1;
        let column = before
            .rsplit('\n')
            .next()
            .unwrap_or_default()
            .chars()
            .count()
            + 1;
        Self { line, column }
    }

    /// `name:line:column`, or the name alone for entries built in Rust.
    pub(crate) fn within(self, name: &str) -> String {
        if self.line == 0 {
            name.to_owned()
        } else {
            format!("{name}:{}:{}", self.line, self.column)
        }
    }
}

/// A text in a script with its position, so that a later error can name it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ScriptText {
    pub(crate) text: String,
    pub(crate) place: ScriptPosition,
    /// Whether the text begins on the line after its quotes, as `"""` and a line break do.
    pub(crate) below: bool,
}

impl ScriptText {
    /// The position of a line of the text, counted from one.
    pub(crate) fn place_of_line(&self, line: usize) -> ScriptPosition {
        if self.place.line == 0 || (line <= 1 && !self.below) {
            return self.place;
        }
        ScriptPosition {
            line: self.place.line + line.saturating_sub(1) + usize::from(self.below),
            column: 1,
        }
    }
}

impl From<String> for ScriptText {
    fn from(text: String) -> Self {
        Self {
            text,
            ..Self::default()
        }
    }
}

/// An error in a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ScriptError {
    pub(crate) place: ScriptPosition,
    pub(crate) what: String,
    pub(crate) fix: Option<String>,
}

impl ScriptError {
    pub(crate) fn new(place: ScriptPosition, what: impl Into<String>) -> Self {
        Self {
            place,
            what: what.into(),
            fix: None,
        }
    }

    pub(crate) fn fix(mut self, fix: impl Into<String>) -> Self {
        self.fix = Some(fix.into());
        self
    }

    /// The error in words for people, with the script's name in front.
    pub(crate) fn problem(self, name: &str) -> Problem {
        let fix = self
            .fix
            .unwrap_or_else(|| "docs/scripted-models.md describes the format".to_owned());
        Problem::new(
            ErrorCode::InvalidConfig,
            format!("{}: {}", self.place.within(name), self.what),
        )
        .fix(fix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_counts_lines_and_characters_from_one() {
        let text = "a = 1\nüb = 2\n";
        for (offset, line, column) in [(0, 1, 1), (4, 1, 5), (6, 2, 1), (8, 2, 2), (999, 3, 1)] {
            assert_eq!(
                ScriptPosition::of(text, offset),
                ScriptPosition { line, column },
                "offset {offset}"
            );
        }
    }
}

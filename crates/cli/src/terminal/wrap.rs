//! Wraps streamed text into rows of a terminal, at words.
//!
//! A row that is followed by another never changes, so it can be printed for good; only the
//! last one is kept back. Lines inside ``` fences are left as they are: they are code.

use unicode_width::UnicodeWidthStr;

use super::line::prefix;

/// Text on its way to the terminal.
#[derive(Debug, Default)]
pub struct LineWrapper {
    row: String,
    /// What the rows after the first of a line begin with.
    indent: Option<String>,
    fenced: bool,
}

impl LineWrapper {
    /// Takes a clean piece in; gives back the rows that are complete.
    pub fn push(&mut self, piece: &str, columns: usize) -> Vec<String> {
        let mut rows = Vec::new();
        let mut lines = piece.split('\n');
        self.row.push_str(lines.next().unwrap_or_default());
        for next in lines {
            self.fill(columns, &mut rows);
            rows.push(self.end_line());
            self.row.push_str(next);
        }
        self.fill(columns, &mut rows);
        rows
    }

    /// The row that is not complete yet.
    pub fn rest(&self) -> &str {
        &self.row
    }

    /// Nothing more comes: the last row, if there is one.
    pub fn finish(&mut self) -> Option<String> {
        let rest = (!self.row.trim().is_empty()).then(|| self.end_line());
        *self = Self::default();
        rest
    }

    fn end_line(&mut self) -> String {
        if self.row.trim_start().starts_with("```") {
            self.fenced = !self.fenced;
        }
        self.indent = None;
        std::mem::take(&mut self.row).trim_end().to_owned()
    }

    /// Breaks the row while it is too wide.
    fn fill(&mut self, columns: usize, rows: &mut Vec<String>) {
        let is_code = self.fenced || self.row.trim_start().starts_with("```");
        while !is_code && self.row.width() > columns {
            let indent = self
                .indent
                .take()
                .unwrap_or_else(|| hanging_indent(&self.row, columns));
            let fits = prefix(&self.row, columns);
            let next_is_space = self
                .row
                .get(fits.len()..)
                .is_some_and(|rest| rest.starts_with(' '));
            let at_word = if next_is_space {
                Some(fits.len())
            } else {
                fits.rfind(' ')
            };
            let at = at_word
                .filter(|at| *at > indent.len())
                .unwrap_or(fits.len().max(1));
            if !self.row.is_char_boundary(at) {
                return;
            }
            let rest = self.row.split_off(at);
            rows.push(std::mem::take(&mut self.row).trim_end().to_owned());
            self.row = format!("{indent}{}", rest.trim_start());
            self.indent = Some(indent);
        }
    }
}

/// A whole text in rows.
pub fn rows(text: &str, columns: usize) -> Vec<String> {
    let mut flow = LineWrapper::default();
    let mut rows = flow.push(text, columns);
    rows.extend(flow.finish());
    rows
}

/// Rows after the first stand below the text of a list item, not below its mark.
fn hanging_indent(line: &str, columns: usize) -> String {
    let text = line.trim_start();
    let mark = text.split_once(' ').map_or("", |(word, _)| word);
    let number = mark.strip_suffix('.').unwrap_or_default();
    let is_list = matches!(mark, "-" | "*" | "•")
        || (!number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()));
    let indent = line.len() - text.len() + if is_list { mark.len() + 1 } else { 0 };
    " ".repeat(if indent <= columns / 2 { indent } else { 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(pieces: &[&str], columns: usize) -> Vec<String> {
        let mut flow = LineWrapper::default();
        let mut rows: Vec<String> = pieces
            .iter()
            .flat_map(|piece| flow.push(piece, columns))
            .collect();
        rows.extend(flow.finish());
        rows
    }

    #[test]
    fn rows_break_at_words_however_the_text_comes() {
        let whole = ["the quick brown fox jumps"];
        let letters: Vec<String> = whole[0].chars().map(String::from).collect();
        let letters: Vec<&str> = letters.iter().map(String::as_str).collect();
        let expected = ["the quick", "brown fox", "jumps"];
        assert_eq!(rows(&whole, 10), expected);
        assert_eq!(rows(&letters, 10), expected);
    }

    #[test]
    fn a_list_item_hangs_below_its_own_text() {
        assert_eq!(
            rows(&["- one two three\n- four"], 9),
            ["- one two", "  three", "- four"]
        );
        assert_eq!(
            rows(&["10. one two three"], 11),
            ["10. one two", "    three"]
        );
    }

    #[test]
    fn a_word_wider_than_the_terminal_is_broken_anywhere() {
        assert_eq!(rows(&["abcdefghij"], 4), ["abcd", "efgh", "ij"]);
        assert_eq!(rows(&["日本語日本語"], 5), ["日本", "語日", "本語"]);
    }

    #[test]
    fn code_is_not_broken_and_empty_lines_stay() {
        let text = "a\n\n```\nlet x = 1 + 2 + 3;\n```\nb";
        assert_eq!(
            rows(&[text], 8),
            ["a", "", "```", "let x = 1 + 2 + 3;", "```", "b"]
        );
    }

    #[test]
    fn a_terminal_of_no_width_ends_all_the_same() {
        assert_eq!(rows(&["日"], 0), ["日"]);
    }
}

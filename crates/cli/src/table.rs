//! Lists for people: columns that fit the terminal.

use unicode_width::UnicodeWidthStr;

use crate::{terminal::clean::clean_line, wording::cut};

/// Between two columns.
const GAP: usize = 2;
/// A column that gives way keeps at least this much.
const LEAST: usize = 8;

/// Whether a column may be cut when the terminal is narrow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Give {
    /// Its cells are always whole.
    Stiff,
    /// It is cut first when space is short.
    Soft,
}

/// Rows under titles.
pub struct Table {
    columns: Vec<(&'static str, Give)>,
    rows: Vec<Vec<String>>,
}

/// How a table is to look.
#[derive(Clone, Copy, Debug, Default)]
pub struct Look {
    /// Columns of the terminal; none when it is not read on one, and nothing is cut.
    pub width: Option<usize>,
    /// Whether the titles stand out.
    pub colours: bool,
}

impl Table {
    pub fn new(columns: impl IntoIterator<Item = (&'static str, Give)>) -> Self {
        Self { columns: columns.into_iter().collect(), rows: Vec::new() }
    }

    /// Adds a row. What came from outside loses its line breaks and control characters.
    pub fn row<const N: usize>(&mut self, cells: [String; N]) {
        self.rows.push(cells.iter().map(|cell| clean_line(cell)).collect());
    }

    /// The whole table as text.
    pub fn text(&self, look: Look) -> String {
        let widths = self.widths(look.width);
        let titles: Vec<String> = self.columns.iter().map(|(title, _)| (*title).to_owned()).collect();
        let heading = line(&titles, &widths);
        let bold = anstyle::Style::new().bold();
        let mut text = if look.colours { format!("{bold}{heading}{bold:#}\n") } else { heading + "\n" };
        for row in &self.rows {
            text += &line(row, &widths);
            text.push('\n');
        }
        text
    }

    /// What each column needs, less what the soft ones must give.
    fn widths(&self, available: Option<usize>) -> Vec<usize> {
        let needed = |column: usize, title: &str| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.width()).max().unwrap_or(0).max(title.width())
        };
        let mut widths: Vec<usize> =
            self.columns.iter().enumerate().map(|(column, (title, _))| needed(column, title)).collect();
        let Some(available) = available else { return widths };
        let gaps = GAP * widths.len().saturating_sub(1);
        let mut excess = (widths.iter().sum::<usize>() + gaps).saturating_sub(available);
        while excess > 0 {
            let soft = widths.iter_mut().zip(&self.columns).filter(|(_, (_, give))| *give == Give::Soft);
            match soft.map(|(width, _)| width).filter(|width| **width > LEAST).max() {
                Some(widest) => *widest -= 1,
                None => break,
            }
            excess -= 1;
        }
        widths
    }
}

fn line(cells: &[String], widths: &[usize]) -> String {
    let mut text = String::new();
    for (cell, width) in cells.iter().zip(widths) {
        let cell = cut(cell, *width);
        text += &cell;
        text += &" ".repeat(width.saturating_sub(cell.width()) + GAP);
    }
    text.truncate(text.trim_end().len());
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new([("ID", Give::Stiff), ("NAME", Give::Soft), ("LAST", Give::Soft)]);
        table.row(["abcd".into(), "日本語".into(), "a rather long last thing\nthat was said".into()]);
        table.row(["efgh".into(), String::new(), "\u{1b}[31mred".into()]);
        table
    }

    #[test]
    fn columns_line_up_by_what_is_seen() {
        let text = table().text(Look::default());
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines,
            [
                "ID    NAME    LAST",
                "abcd  日本語  a rather long last thing that was said",
                "efgh          red",
            ]
        );
    }

    #[test]
    fn a_narrow_terminal_cuts_only_soft_columns() {
        let text = table().text(Look { width: Some(30), colours: false });
        assert!(text.lines().all(|line| line.width() <= 30), "{text}");
        assert!(text.contains("abcd  日本語  a rather long l…"), "{text}");
    }

    #[test]
    fn a_terminal_too_narrow_for_anything_still_gets_a_table() {
        let text = table().text(Look { width: Some(5), colours: false });
        assert!(text.contains("abcd  日本語  a rathe…"), "{text}");
    }
}

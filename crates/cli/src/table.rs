//! Text tables for people: columns that fit the terminal.

use unicode_width::UnicodeWidthStr;

use crate::{human_format::cut, terminal::sanitize::clean_line};

/// Between two columns.
const GAP: usize = 2;
/// A column that gives way keeps at least this much.
const LEAST: usize = 8;

/// How a column behaves when the terminal is narrow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnShrink {
    /// Its cells are always whole.
    Stiff,
    /// It is cut.
    Soft,
    /// It is left out when cutting others is not enough.
    Spare,
}

/// Rows under titles.
pub struct TextTable {
    columns: Vec<(&'static str, ColumnShrink)>,
    rows: Vec<Vec<String>>,
}

/// How a table is to look.
#[derive(Clone, Copy, Debug, Default)]
pub struct TableStyle {
    /// Columns of the terminal; none when it is not read on one, and nothing is cut.
    pub width: Option<usize>,
    /// Whether the titles stand out.
    pub colours: bool,
}

impl TextTable {
    pub fn new(columns: impl IntoIterator<Item = (&'static str, ColumnShrink)>) -> Self {
        Self {
            columns: columns.into_iter().collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row. What came from outside loses its line breaks and control characters.
    pub fn row<const N: usize>(&mut self, cells: [String; N]) {
        self.rows
            .push(cells.iter().map(|cell| clean_line(cell)).collect());
    }

    /// The whole table as text. Columns with nothing in them are left out.
    pub fn text(&self, look: TableStyle) -> String {
        let mut columns: Vec<TableColumn> = (0..)
            .zip(&self.columns)
            .map(|(at, (title, give))| self.column(at, title, *give))
            .collect();
        columns.retain(|column| !column.is_empty);
        if let Some(available) = look.width {
            fit(&mut columns, available);
        }
        let heading = line(
            columns.iter().map(|column| (column.title, column.width)),
            look.width,
        );
        let bold = anstyle::Style::new().bold();
        let mut text = if look.colours {
            format!("{bold}{heading}{bold:#}\n")
        } else {
            heading + "\n"
        };
        for row in &self.rows {
            let cell = |column: &TableColumn| {
                (row.get(column.at).map_or("", String::as_str), column.width)
            };
            text += &line(columns.iter().map(cell), look.width);
            text.push('\n');
        }
        text
    }

    fn column(&self, at: usize, title: &'static str, give: ColumnShrink) -> TableColumn {
        let widest = self
            .rows
            .iter()
            .filter_map(|row| row.get(at))
            .map(|cell| cell.width())
            .max()
            .unwrap_or(0);
        TableColumn {
            at,
            title,
            give,
            width: widest.max(title.width()),
            is_empty: widest == 0,
        }
    }
}

/// A column as it is printed.
struct TableColumn {
    at: usize,
    title: &'static str,
    give: ColumnShrink,
    width: usize,
    is_empty: bool,
}

/// Cuts soft columns, then leaves out spare ones, until all fit or nothing more can be done.
fn fit(columns: &mut Vec<TableColumn>, available: usize) {
    loop {
        let gaps = GAP * columns.len().saturating_sub(1);
        let needed: usize = columns.iter().map(|column| column.width).sum();
        if needed + gaps <= available {
            return;
        }
        let soft = columns
            .iter_mut()
            .filter(|column| column.give == ColumnShrink::Soft && column.width > LEAST);
        if let Some(widest) = soft.max_by_key(|column| column.width) {
            widest.width -= 1;
        } else if let Some(spare) = columns
            .iter()
            .rposition(|column| column.give == ColumnShrink::Spare)
        {
            columns.remove(spare);
        } else {
            return;
        }
    }
}

fn line<'a>(cells: impl Iterator<Item = (&'a str, usize)>, available: Option<usize>) -> String {
    let mut text = String::new();
    for (cell, width) in cells {
        let cell = cut(cell, width);
        text += &cell;
        text += &" ".repeat(width.saturating_sub(cell.width()) + GAP);
    }
    text.truncate(text.trim_end().len());
    available.map_or_else(|| text.clone(), |available| cut(&text, available))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> TextTable {
        let mut table = TextTable::new([
            ("ID", ColumnShrink::Stiff),
            ("NAME", ColumnShrink::Soft),
            ("LAST", ColumnShrink::Soft),
        ]);
        table.row([
            "abcd".into(),
            "日本語".into(),
            "a rather long last thing\nthat was said".into(),
        ]);
        table.row(["efgh".into(), String::new(), "\u{1b}[31mred".into()]);
        table
    }

    #[test]
    fn columns_line_up_by_what_is_seen() {
        let text = table().text(TableStyle::default());
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
        let text = table().text(TableStyle {
            width: Some(30),
            colours: false,
        });
        assert!(text.lines().all(|line| line.width() <= 30), "{text}");
        assert!(text.contains("abcd  日本語  a rather long l…"), "{text}");
    }

    #[test]
    fn spare_columns_go_when_cutting_is_not_enough() {
        let mut table = TextTable::new([
            ("ID", ColumnShrink::Stiff),
            ("COUNT", ColumnShrink::Spare),
            ("LAST", ColumnShrink::Soft),
        ]);
        table.row(["abcdefgh".into(), "12".into(), "a rather long text".into()]);
        let text = |width| {
            table.text(TableStyle {
                width: Some(width),
                colours: false,
            })
        };
        assert_eq!(
            text(25),
            "ID        COUNT  LAST\nabcdefgh  12     a rathe…\n"
        );
        assert_eq!(text(20), "ID        LAST\nabcdefgh  a rathe…\n");
        assert!(
            text(5).lines().all(|line| line.width() <= 5),
            "nothing is wider than the terminal"
        );
    }

    #[test]
    fn a_column_with_nothing_in_it_is_left_out() {
        let mut table = TextTable::new([
            ("ID", ColumnShrink::Stiff),
            ("STATE", ColumnShrink::Stiff),
            ("LAST", ColumnShrink::Soft),
        ]);
        table.row(["abcd".into(), String::new(), "text".into()]);
        assert_eq!(
            table.text(TableStyle::default()),
            "ID    LAST\nabcd  text\n"
        );
    }
}

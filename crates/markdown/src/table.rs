//! Lays out tables to a width: columns side by side, narrower with wrapped cells, or rows stacked below each other.

use pulldown_cmark::Alignment;
use unicode_width::UnicodeWidthStr;

use crate::{
    line::{MarkdownLine, MarkdownSpan, SpanStyle},
    wrap::wrap,
};

/// Narrowest column that is still read easily; with less room rows are stacked.
const LEAST_COLUMN: usize = 8;
/// Between two columns.
const BORDER: &str = " │ ";

type TableCell = Vec<MarkdownSpan>;

/// A table whose cells are collected before it is laid out. The first row is the header.
pub(crate) struct TableLayout {
    alignments: Vec<Alignment>,
    rows: Vec<Vec<TableCell>>,
}

impl TableLayout {
    pub(crate) fn new(alignments: Vec<Alignment>) -> Self {
        Self {
            alignments,
            rows: Vec::new(),
        }
    }

    pub(crate) fn begin_row(&mut self) {
        self.rows.push(Vec::new());
    }

    pub(crate) fn add_cell(&mut self, cell: TableCell) {
        if let Some(row) = self.rows.last_mut() {
            row.push(cell);
        }
    }

    pub(crate) fn lines(self, room: usize) -> Vec<MarkdownLine> {
        match fit(&self.natural_widths(), room) {
            Some(widths) => self.side_by_side(&widths),
            None => self.stacked(room),
        }
    }

    fn natural_widths(&self) -> Vec<usize> {
        let mut widths = vec![1; self.alignments.len()];
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell_width(cell));
            }
        }
        widths
    }

    fn side_by_side(&self, widths: &[usize]) -> Vec<MarkdownLine> {
        let mut lines = Vec::new();
        for (at, row) in self.rows.iter().enumerate() {
            lines.extend(self.row_lines(row, widths, at == 0));
            if at == 0 {
                let rules: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
                let mut line = MarkdownLine::default();
                line.append(SpanStyle::DIM, &rules.join("─┼─"));
                lines.push(line);
            }
        }
        lines
    }

    fn row_lines(&self, row: &[TableCell], widths: &[usize], is_header: bool) -> Vec<MarkdownLine> {
        let wrapped: Vec<Vec<TableCell>> = widths
            .iter()
            .enumerate()
            .map(|(at, width)| {
                row.get(at)
                    .map(|cell| wrap(cell, *width))
                    .unwrap_or_default()
            })
            .collect();
        let height = wrapped.iter().map(Vec::len).max().unwrap_or(0);
        let mut lines = Vec::new();
        for level in 0..height {
            let mut line = MarkdownLine::default();
            for (at, (cell, width)) in wrapped.iter().zip(widths).enumerate() {
                if at > 0 {
                    line.append(SpanStyle::DIM, BORDER);
                }
                let part = cell.get(level).map(Vec::as_slice).unwrap_or_default();
                let free = width.saturating_sub(cell_width(part));
                let before = match self.alignments.get(at) {
                    Some(Alignment::Right) => free,
                    Some(Alignment::Center) => free / 2,
                    _ => 0,
                };
                line.append(SpanStyle::PLAIN, &" ".repeat(before));
                append_cell(&mut line, part, is_header);
                line.append(SpanStyle::PLAIN, &" ".repeat(free - before));
            }
            line.trim_end();
            lines.push(line);
        }
        lines
    }

    /// Each row as `header: cell` lines, with a short rule between rows.
    fn stacked(&self, room: usize) -> Vec<MarkdownLine> {
        let mut rows = self.rows.iter();
        let header = rows.next().map(Vec::as_slice).unwrap_or_default();
        let mut lines = Vec::new();
        for (at, row) in rows.enumerate() {
            if at > 0 {
                let mut rule = MarkdownLine::default();
                rule.append(SpanStyle::DIM, "──");
                lines.push(rule);
            }
            for (column, cell) in row.iter().enumerate() {
                let mut line = MarkdownLine::default();
                if let Some(name) = header.get(column).filter(|name| !name.is_empty()) {
                    append_cell(&mut line, name, true);
                    line.append(SpanStyle::DIM, ": ");
                }
                append_cell(&mut line, cell, false);
                let wrapped = wrap(&line.spans, room);
                lines.extend(wrapped.into_iter().map(|spans| MarkdownLine {
                    spans,
                    verbatim: false,
                }));
            }
        }
        if lines.is_empty() {
            for name in header {
                let mut line = MarkdownLine::default();
                append_cell(&mut line, name, true);
                lines.push(line);
            }
        }
        lines
    }
}

fn append_cell(line: &mut MarkdownLine, cell: &[MarkdownSpan], is_header: bool) {
    for span in cell {
        let strong = span.style.strong || is_header;
        line.append(
            SpanStyle {
                strong,
                ..span.style
            },
            &span.text,
        );
    }
}

fn cell_width(cell: &[MarkdownSpan]) -> usize {
    cell.iter().map(|span| span.text.width()).sum()
}

/// Widths of columns that fit the room: narrow ones keep theirs, wide ones share the rest equally. None if a column
/// would become too narrow to read.
fn fit(natural: &[usize], room: usize) -> Option<Vec<usize>> {
    let borders = BORDER.width() * natural.len().saturating_sub(1);
    let mut left = room.checked_sub(borders)?;
    let mut order: Vec<usize> = (0..natural.len()).collect();
    order.sort_by_key(|column| natural.get(*column).copied());
    let mut widths = natural.to_vec();
    for (done, column) in order.iter().enumerate() {
        let share = left / (natural.len() - done);
        let width = widths.get_mut(*column)?;
        if *width > share && share < LEAST_COLUMN {
            return None;
        }
        *width = (*width).min(share);
        left -= *width;
    }
    Some(widths)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn narrow_columns_keep_their_width_and_wide_ones_share_the_rest() {
        assert_eq!(fit(&[3, 5], 40), Some(vec![3, 5]));
        assert_eq!(fit(&[3, 90, 60], 49), Some(vec![3, 20, 20]));
        assert_eq!(fit(&[3, 90], 13), None);
        assert_eq!(fit(&[], 10), Some(vec![]));
    }
}

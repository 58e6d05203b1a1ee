//! Some lines of a text, numbered, without holding the rest of it.

use std::io::{self, BufRead};

use crate::truncate::LINE_CHARS;

/// Which lines.
#[derive(Clone, Copy)]
pub(super) struct LineRange {
    /// From 1.
    pub first: u64,
    /// How many.
    pub count: u64,
}

/// The lines that were found.
#[derive(Default)]
pub(super) struct LinePage {
    text: String,
    first: u64,
    shown: u64,
    /// Lines passed by before the first one that is shown.
    passed: u64,
    has_more: bool,
}

impl LinePage {
    /// What the model reads; `Err` if there is no such line. `total` is the number of lines if known.
    pub fn describe(mut self, name: &str, total: Option<u64>) -> Result<String, String> {
        if self.shown == 0 {
            let lines = total.unwrap_or(self.passed);
            return Err(format!(
                "{name} has {lines} lines; there is no line {}.",
                self.first
            ));
        }
        let last = self.first + self.shown - 1;
        if self.has_more {
            let of = total.map_or_else(String::new, |total| format!(" of {total}"));
            let next = last + 1;
            self.text.push_str(&format!(
                "[lines {}–{last}{of}; offset {next} shows what follows]",
                self.first
            ));
        } else {
            self.text.truncate(self.text.trim_end_matches('\n').len());
        }
        Ok(self.text)
    }
}

/// Reads a range. Lines before it are skipped and lines after it are not read.
pub(super) fn read(
    mut reader: impl BufRead,
    range: LineRange,
    is_stopped: impl Fn() -> bool,
) -> io::Result<LinePage> {
    let mut page = LinePage {
        first: range.first,
        ..LinePage::default()
    };
    let mut line = Vec::new();
    while !is_stopped() {
        let is_wanted = page.passed + 1 >= range.first;
        let length = if is_wanted {
            next_line(&mut reader, &mut line)?
        } else {
            skip_line(&mut reader)?
        };
        if length == 0 {
            break;
        }
        if !is_wanted {
            page.passed += 1;
        } else if page.shown == range.count {
            page.has_more = true;
            break;
        } else {
            push(&mut page.text, range.first + page.shown, &line, length);
            page.shown += 1;
        }
    }
    Ok(page)
}

fn push(text: &mut String, number: u64, line: &[u8], length: u64) {
    let decoded = String::from_utf8_lossy(line);
    let decoded = decoded.trim_end_matches('\n').trim_end_matches('\r');
    text.push_str(&format!("{number:>6}→"));
    let is_long = length > line.len() as u64 || decoded.chars().nth(LINE_CHARS).is_some();
    if is_long {
        text.extend(decoded.chars().take(LINE_CHARS));
        text.push_str(&format!("… [cut: this line has {length} bytes]"));
    } else {
        text.push_str(decoded);
    }
    text.push('\n');
}

/// Keeps as much of a line as can be shown; says how long it is, with its end.
fn next_line(reader: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<u64> {
    line.clear();
    walk_line(reader, |piece| {
        let room = (LINE_CHARS * 4 + 4)
            .saturating_sub(line.len())
            .min(piece.len());
        line.extend_from_slice(piece.get(..room).unwrap_or_default());
    })
}

fn skip_line(reader: &mut impl BufRead) -> io::Result<u64> {
    walk_line(reader, |_| {})
}

fn walk_line(reader: &mut impl BufRead, mut take: impl FnMut(&[u8])) -> io::Result<u64> {
    let mut length = 0;
    loop {
        let buffer = reader.fill_buf()?;
        let end = buffer
            .iter()
            .position(|byte| *byte == b'\n')
            .map(|at| at + 1);
        let used = end.unwrap_or(buffer.len());
        take(buffer.get(..used).unwrap_or_default());
        length += used as u64;
        reader.consume(used);
        if end.is_some() || used == 0 {
            return Ok(length);
        }
    }
}

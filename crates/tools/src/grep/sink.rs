//! What one file's matches become.

use std::io;

use grep_searcher::{Searcher, Sink, SinkContext, SinkFinish, SinkMatch};

use super::query::Mode;

/// Characters shown of one line; more is somebody's data, not code.
const LINE_CHARS: usize = 500;

/// Collects from one file.
pub(super) struct Collector {
    mode: Mode,
    /// Lines after which a file has said enough.
    most: usize,
    pub lines: Vec<Line>,
    pub count: u64,
    is_binary: bool,
}

/// One line of a result.
pub(super) enum Line {
    Match(u64, String),
    Context(u64, String),
    Break,
}

impl Collector {
    pub fn new(mode: Mode, most: usize) -> Self {
        Self { mode, most, lines: Vec::new(), count: 0, is_binary: false }
    }

    /// A file that turned out to be binary has no lines.
    pub fn is_match(&self) -> bool {
        self.count > 0 && !self.is_binary
    }
}

impl Sink for Collector {
    type Error = io::Error;

    fn matched(&mut self, _searcher: &Searcher, found: &SinkMatch<'_>) -> Result<bool, io::Error> {
        match self.mode {
            Mode::Files => self.count = 1,
            Mode::Count => self.count += found.lines().count() as u64,
            Mode::Content => {
                let first = found.line_number().unwrap_or(0);
                let lines = found.lines().zip(first..).map(|(line, number)| Line::Match(number, shown(line)));
                self.lines.extend(lines);
                self.count += 1;
            }
        }
        Ok(self.mode != Mode::Files && self.lines.len() < self.most)
    }

    fn context(&mut self, _searcher: &Searcher, context: &SinkContext<'_>) -> Result<bool, io::Error> {
        self.lines.push(Line::Context(context.line_number().unwrap_or(0), shown(context.bytes())));
        Ok(true)
    }

    fn context_break(&mut self, _searcher: &Searcher) -> Result<bool, io::Error> {
        self.lines.push(Line::Break);
        Ok(true)
    }

    fn finish(&mut self, _searcher: &Searcher, finish: &SinkFinish) -> Result<(), io::Error> {
        self.is_binary = finish.binary_byte_offset().is_some();
        Ok(())
    }
}

fn shown(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line);
    let text = text.trim_end_matches(['\n', '\r']);
    match text.char_indices().nth(LINE_CHARS) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
        None => text.to_owned(),
    }
}

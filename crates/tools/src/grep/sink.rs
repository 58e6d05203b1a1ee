//! Collects the matches of one file: lines, context lines, counts.

use std::io;

use grep_searcher::{Searcher, Sink, SinkContext, SinkFinish, SinkMatch};
use rooftree_stdx::shorten::shorten;

use super::query::GrepMode;

/// Characters shown of one line; longer lines are data, not code.
const LINE_CHARS: usize = 500;

/// Collects from one file.
pub(super) struct MatchCollector {
    mode: GrepMode,
    /// Lines after which a file has said enough.
    most: usize,
    pub lines: Vec<GrepLine>,
    pub count: u64,
    is_binary: bool,
}

/// One line of a result.
pub(super) enum GrepLine {
    Match(u64, String),
    Context(u64, String),
    Break,
}

impl MatchCollector {
    pub fn new(mode: GrepMode, most: usize) -> Self {
        Self {
            mode,
            most,
            lines: Vec::new(),
            count: 0,
            is_binary: false,
        }
    }

    /// A file that turned out to be binary has no lines.
    pub fn is_match(&self) -> bool {
        self.count > 0 && !self.is_binary
    }
}

impl Sink for MatchCollector {
    type Error = io::Error;

    fn matched(&mut self, _searcher: &Searcher, found: &SinkMatch<'_>) -> Result<bool, io::Error> {
        match self.mode {
            GrepMode::Files => self.count = 1,
            GrepMode::Count => self.count += found.lines().count() as u64,
            GrepMode::Content => {
                let first = found.line_number().unwrap_or(0);
                let lines = found
                    .lines()
                    .zip(first..)
                    .map(|(line, number)| GrepLine::Match(number, shown(line)));
                self.lines.extend(lines);
                self.count += 1;
            }
        }
        Ok(self.mode != GrepMode::Files && self.lines.len() < self.most)
    }

    fn context(
        &mut self,
        _searcher: &Searcher,
        context: &SinkContext<'_>,
    ) -> Result<bool, io::Error> {
        self.lines.push(GrepLine::Context(
            context.line_number().unwrap_or(0),
            shown(context.bytes()),
        ));
        Ok(true)
    }

    fn context_break(&mut self, _searcher: &Searcher) -> Result<bool, io::Error> {
        self.lines.push(GrepLine::Break);
        Ok(true)
    }

    fn finish(&mut self, _searcher: &Searcher, finish: &SinkFinish) -> Result<(), io::Error> {
        self.is_binary = finish.binary_byte_offset().is_some();
        Ok(())
    }
}

fn shown(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line);
    shorten(text.trim_end_matches(['\n', '\r']), LINE_CHARS)
}

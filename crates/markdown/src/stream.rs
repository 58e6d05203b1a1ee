//! Renders streamed Markdown to lines, block by block; a line that was returned never changes.

use crate::{
    blocks::{BlockKind, BlockSplitter, SourceBlock},
    layout,
    line::{MarkdownLine, SpanStyle},
    options::LineOptions,
    syntax::{CodeFence, ItemMark, indent, is_table_rule},
    visible::visible,
};

/// Bytes of the open block that are shown before it is closed: a bound on what each look at it costs.
const LONGEST_TAIL: usize = 4 * 1024;

/// Markdown on its way to a terminal.
#[derive(Debug)]
pub struct MarkdownStream {
    options: LineOptions,
    splitter: BlockSplitter,
    position: StreamPosition,
    work: u64,
}

/// What was rendered last, as far as the next block depends on it.
#[derive(Clone, Copy, Debug, Default)]
struct StreamPosition {
    has_lines: bool,
    list: Option<ItemMark>,
}

impl MarkdownStream {
    /// Renders with these options.
    pub fn new(options: LineOptions) -> Self {
        Self {
            options,
            splitter: BlockSplitter::default(),
            position: StreamPosition::default(),
            work: 0,
        }
    }

    /// Renders what follows for another width.
    pub fn set_columns(&mut self, columns: usize) {
        self.options = LineOptions {
            columns: LineOptions::new(columns).columns,
            ..self.options
        };
    }

    /// Takes a piece of text in; returns the lines of the blocks it closes.
    pub fn push(&mut self, piece: &str) -> Vec<MarkdownLine> {
        self.work += piece.len() as u64;
        let blocks = self.splitter.push(piece);
        self.render(&blocks)
    }

    /// The text is complete: the lines that are left. The stream can be used for another text.
    pub fn finish(&mut self) -> Vec<MarkdownLine> {
        let blocks = self.splitter.finish();
        let lines = self.render(&blocks);
        self.position = StreamPosition::default();
        lines
    }

    /// The block that is not closed yet, as far as it can be shown: a table only as a count of its rows, and
    /// of a long block only the end.
    pub fn tail(&self) -> Vec<MarkdownLine> {
        let Some(mut block) = self.splitter.open() else {
            return Vec::new();
        };
        if block.text.lines().any(is_table_rule) {
            let rows = block.text.lines().count().saturating_sub(2);
            let mut line = MarkdownLine::default();
            line.append(SpanStyle::DIM, &format!("… table, {rows} rows"));
            return vec![line];
        }
        if !matches!(block.kind, BlockKind::CodeLine(_)) {
            drop_mark_of_next_block(&mut block.text);
        }
        keep_end(&mut block.text);
        if block.text.trim().is_empty() {
            return Vec::new();
        }
        render_block(&block, &mut self.position.clone(), self.options)
    }

    /// Bytes that were scanned and parsed so far, for tests of cost.
    pub fn work(&self) -> u64 {
        self.work
    }

    fn render(&mut self, blocks: &[SourceBlock]) -> Vec<MarkdownLine> {
        let mut lines = Vec::new();
        for block in blocks {
            self.work += block.text.len() as u64;
            lines.extend(render_block(block, &mut self.position, self.options));
        }
        lines
    }
}

/// A whole text as lines.
pub fn to_lines(text: &str, options: LineOptions) -> Vec<MarkdownLine> {
    let mut stream = MarkdownStream::new(options);
    let mut lines = stream.push(text);
    lines.extend(stream.finish());
    lines
}

fn render_block(
    block: &SourceBlock,
    position: &mut StreamPosition,
    options: LineOptions,
) -> Vec<MarkdownLine> {
    let list = position.list.take();
    let mut body = match block.kind {
        BlockKind::CodeLine(fence) => vec![code_line(&block.text, fence)],
        BlockKind::FenceMark => vec![fence_mark(&block.text)],
        BlockKind::Item(mark) => {
            let mark = numbered(mark, list);
            position.list = Some(mark);
            layout::lines(&block.text, mark.number, options)
        }
        _ => layout::lines(&block.text, None, options),
    };
    let is_apart = block.is_apart || block.kind == BlockKind::Heading;
    if is_apart && position.has_lines && !body.is_empty() {
        body.insert(0, MarkdownLine::default());
    }
    position.has_lines |= !body.is_empty();
    body
}

/// The mark with its number in the list it continues: `1. 1. 1.` counts.
fn numbered(mark: ItemMark, list: Option<ItemMark>) -> ItemMark {
    let before = list.filter(|before| mark.continues(*before));
    let number = match before.and_then(|before| before.number) {
        Some(number) => Some(number.saturating_add(1)),
        None => mark.number,
    };
    ItemMark { number, ..mark }
}

fn code_line(text: &str, fence: CodeFence) -> MarkdownLine {
    let text = text.trim_end_matches('\n');
    let spaces = indent(text).min(fence.indent);
    let text = match text.get(..spaces) {
        Some(before) if before.bytes().all(|byte| byte == b' ') => {
            text.get(spaces..).unwrap_or_default()
        }
        _ => text,
    };
    layout::code_line(text)
}

fn fence_mark(text: &str) -> MarkdownLine {
    let mut line = MarkdownLine {
        verbatim: true,
        ..MarkdownLine::default()
    };
    line.append(SpanStyle::DIM, &visible(text.trim()));
    line
}

/// Removes an unfinished last line that may turn out to be the mark of the next block: `Steps:` and `-` below it
/// would be a heading until the text of the list item arrives.
fn drop_mark_of_next_block(text: &mut String) {
    let at = text.rfind('\n').map_or(0, |at| at + 1);
    let last = text.get(at..).unwrap_or_default();
    let is_mark = |letter: char| " -=*_#>`~.)|:+".contains(letter) || letter.is_ascii_digit();
    if last.chars().all(is_mark) {
        text.truncate(at);
    }
}

/// Keeps the end of a text that is too long to be shown on every change.
fn keep_end(text: &mut String) {
    let Some(mut at) = text.len().checked_sub(LONGEST_TAIL) else {
        return;
    };
    while !text.is_char_boundary(at) {
        at += 1;
    }
    let rest = text.get(at..).unwrap_or_default();
    at += rest.find(['\n', ' ']).map_or(0, |found| found + 1);
    text.drain(..at);
}

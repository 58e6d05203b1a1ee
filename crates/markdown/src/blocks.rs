//! Splits streamed Markdown into top-level blocks, line by line, so that each can be rendered once.
//!
//! A block is closed by the line that follows it, so decisions need whole lines and never more than one line ahead.
//! What is returned depends on the text alone, not on the pieces in which it arrives. Lines of a code fence and items
//! of a list are blocks of their own: they are shown while the fence or the list goes on.

use crate::syntax::{
    CodeFence, ItemMark, begins_block, indent, interrupts_paragraph, is_blank, is_heading,
    is_quote, is_rule, is_underline,
};

/// Longest open block in bytes. A longer one is divided, which bounds what is held back and parsed again.
pub(crate) const LONGEST_BLOCK: usize = 32 * 1024;

/// Source text that is rendered as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SourceBlock {
    pub(crate) kind: BlockKind,
    pub(crate) text: String,
    /// An empty line stood before it.
    pub(crate) is_apart: bool,
}

/// What a block is, as far as its first line tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BlockKind {
    /// A paragraph, a table, an underlined heading, HTML.
    Text,
    Heading,
    Rule,
    Quote,
    Item(ItemMark),
    IndentedCode,
    /// The opening or closing line of a code fence.
    FenceMark,
    CodeLine(CodeFence),
}

/// The block that the next line may belong to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum OpenBlock {
    #[default]
    Nothing,
    Fence(CodeFence),
    Lines(BlockKind),
}

/// Text that is not closed yet.
#[derive(Debug, Default)]
pub(crate) struct BlockSplitter {
    buffer: String,
    /// Where the open block, the unfinished line, and the text not searched for a line end begin.
    start: usize,
    line: usize,
    searched: usize,
    open: OpenBlock,
    /// An empty line came after the last closed block, and after the last line of the open one.
    was_blank: bool,
    ends_blank: bool,
    closed: Vec<SourceBlock>,
}

impl BlockSplitter {
    /// Takes text in; returns the blocks it closes.
    pub(crate) fn push(&mut self, text: &str) -> Vec<SourceBlock> {
        self.buffer
            .extend(text.chars().filter(|letter| *letter != '\r'));
        self.advance();
        self.buffer.drain(..self.start);
        self.line -= self.start;
        self.searched -= self.start;
        self.start = 0;
        std::mem::take(&mut self.closed)
    }

    /// No text follows: the blocks that are left.
    pub(crate) fn finish(&mut self) -> Vec<SourceBlock> {
        let mut blocks = if self.line < self.buffer.len() {
            self.push("\n")
        } else {
            Vec::new()
        };
        if let OpenBlock::Lines(kind) = self.open {
            self.close(kind, self.line);
        }
        blocks.append(&mut self.closed);
        *self = Self::default();
        blocks
    }

    /// The text that is not closed yet.
    pub(crate) fn rest(&self) -> &str {
        self.buffer.get(self.start..).unwrap_or_default()
    }

    /// The same as a block, if there is any.
    pub(crate) fn open(&self) -> Option<SourceBlock> {
        let text = self.buffer.get(self.start..)?;
        let kind = match self.open {
            OpenBlock::Fence(fence) => BlockKind::CodeLine(fence),
            OpenBlock::Lines(kind) => kind,
            OpenBlock::Nothing => kind_of(text),
        };
        (!is_blank(text)).then(|| SourceBlock {
            kind,
            text: text.to_owned(),
            is_apart: self.was_blank,
        })
    }

    fn advance(&mut self) {
        loop {
            let found = self
                .buffer
                .get(self.searched..)
                .and_then(|rest| rest.find('\n'));
            let end = found.map(|at| self.searched + at + 1);
            if end.unwrap_or(self.buffer.len()) - self.start > LONGEST_BLOCK {
                self.divide();
                continue;
            }
            let Some(end) = end else {
                self.searched = self.buffer.len();
                return;
            };
            self.searched = end;
            self.take_line(end);
            self.line = end;
        }
    }

    /// Closes the first part of a block that is too long, at a line or a word if there is one.
    fn divide(&mut self) {
        let mut at = self.start + LONGEST_BLOCK;
        while !self.buffer.is_char_boundary(at) {
            at -= 1;
        }
        let middle = at - LONGEST_BLOCK / 2;
        let later = |mark: char| {
            let part = self.buffer.get(self.start..at)?;
            let found = self.start + part.rfind(mark)? + 1;
            (found > middle).then_some(found)
        };
        let at = later('\n').or_else(|| later(' ')).unwrap_or(at);
        let kind = match self.open {
            OpenBlock::Fence(fence) => BlockKind::CodeLine(fence),
            OpenBlock::Lines(kind) => kind,
            OpenBlock::Nothing => BlockKind::Text,
        };
        self.close(kind, at);
        if !matches!(self.open, OpenBlock::Fence(_)) {
            self.open = OpenBlock::Nothing;
        }
        self.line = at;
        self.searched = at;
    }

    /// Takes the line that ends at `end`, line end included.
    fn take_line(&mut self, end: usize) {
        let line = self
            .buffer
            .get(self.line..end)
            .unwrap_or_default()
            .to_owned();
        let line = line.trim_end_matches('\n');
        match self.open {
            OpenBlock::Fence(fence) if fence.is_closed_by(line) => {
                self.open = OpenBlock::Nothing;
                self.close(BlockKind::FenceMark, end);
            }
            OpenBlock::Fence(fence) => self.close(BlockKind::CodeLine(fence), end),
            OpenBlock::Nothing if is_blank(line) => self.skip_blank(end),
            OpenBlock::Nothing => self.begin(line, end),
            OpenBlock::Lines(kind) if is_blank(line) => match kind {
                BlockKind::Item(_) | BlockKind::IndentedCode => self.ends_blank = true,
                kind => {
                    self.open = OpenBlock::Nothing;
                    self.close(kind, self.line);
                    self.skip_blank(end);
                }
            },
            OpenBlock::Lines(BlockKind::Text) if is_underline(line) => {
                self.open = OpenBlock::Nothing;
                self.close(BlockKind::Text, end);
            }
            OpenBlock::Lines(kind) if self.continues(kind, line) => self.ends_blank = false,
            OpenBlock::Lines(kind) => {
                self.close(kind, self.line);
                self.was_blank |= std::mem::take(&mut self.ends_blank);
                self.begin(line, end);
            }
        }
    }

    fn continues(&self, kind: BlockKind, line: &str) -> bool {
        match kind {
            BlockKind::Item(mark) => {
                indent(line) >= mark.offset || !self.ends_blank && !begins_block(line)
            }
            BlockKind::IndentedCode => indent(line) >= 4,
            BlockKind::Quote => is_quote(line) || !interrupts_paragraph(line),
            _ => !interrupts_paragraph(line),
        }
    }

    fn begin(&mut self, line: &str, end: usize) {
        let kind = kind_of(line);
        self.open = OpenBlock::Lines(kind);
        if let Some(fence) = CodeFence::opened_by(line) {
            self.open = OpenBlock::Fence(fence);
            self.close(kind, end);
        } else if matches!(kind, BlockKind::Heading | BlockKind::Rule) {
            self.open = OpenBlock::Nothing;
            self.close(kind, end);
        }
    }

    fn skip_blank(&mut self, end: usize) {
        self.was_blank = true;
        self.start = end;
    }

    fn close(&mut self, kind: BlockKind, end: usize) {
        let text = self.buffer.get(self.start..end).unwrap_or_default();
        self.closed.push(SourceBlock {
            kind,
            text: text.to_owned(),
            is_apart: std::mem::take(&mut self.was_blank),
        });
        self.start = end;
    }
}

/// What the first line of a text begins.
fn kind_of(text: &str) -> BlockKind {
    let line = text.lines().next().unwrap_or_default();
    match () {
        () if CodeFence::opened_by(line).is_some() => BlockKind::FenceMark,
        () if is_heading(line) => BlockKind::Heading,
        () if is_rule(line) => BlockKind::Rule,
        () if is_quote(line) => BlockKind::Quote,
        () if indent(line) >= 4 => BlockKind::IndentedCode,
        () => ItemMark::of(line).map_or(BlockKind::Text, BlockKind::Item),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(text: &str) -> Vec<String> {
        let mut splitter = BlockSplitter::default();
        let mut blocks = splitter.push(text);
        blocks.extend(splitter.finish());
        blocks.into_iter().map(|block| block.text).collect()
    }

    #[test]
    fn blocks_end_where_the_next_line_says_so() {
        let cases: &[(&str, &[&str])] = &[
            ("a\nb\n\nc", &["a\nb\n", "c\n"]),
            ("a\n# b\nc\n===\nd", &["a\n", "# b\n", "c\n===\n", "d\n"]),
            (
                "- a\n  b\nlazy\n- c\n\n  d\n\ne",
                &["- a\n  b\nlazy\n", "- c\n\n  d\n\n", "e\n"],
            ),
            ("a\n- b\n2. c", &["a\n", "- b\n", "2. c\n"]),
            ("a\n2. b", &["a\n2. b\n"]),
            (
                "```x\n- a\n\n```\nb",
                &["```x\n", "- a\n", "\n", "```\n", "b\n"],
            ),
            ("> a\nb\n> c\n\n> d", &["> a\nb\n> c\n", "> d\n"]),
            (
                "| a |\n|---|\n| b |\n\nc",
                &["| a |\n|---|\n| b |\n", "c\n"],
            ),
            ("    a\n\n    b\nc", &["    a\n\n    b\n", "c\n"]),
            ("\n\n\n", &[]),
        ];
        for (text, blocks) in cases {
            assert_eq!(split(text), *blocks, "{text:?}");
        }
    }

    #[test]
    fn a_block_without_an_end_is_divided() {
        let long = "word ".repeat(LONGEST_BLOCK);
        let parts = split(&long);
        assert!(parts.iter().all(|part| part.len() <= LONGEST_BLOCK + 1));
        assert_eq!(parts.concat().trim_end(), long.trim_end());
        let wide = "語".repeat(LONGEST_BLOCK);
        assert_eq!(split(&wide).concat().trim_end(), wide);
    }
}

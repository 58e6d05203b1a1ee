//! Renders streamed Markdown as HTML, block by block; HTML that was returned never changes.

use crate::{
    blocks::{BlockKind, BlockSplitter, LONGEST_BLOCK, SourceBlock},
    html::to_html,
};

/// Markdown on its way to a web page. A block is parsed once, when it is closed; a code fence is one block.
#[derive(Debug, Default)]
pub struct HtmlStream {
    splitter: BlockSplitter,
    /// The lines of the open code fence, its first line among them.
    fence: Option<String>,
    work: u64,
}

impl HtmlStream {
    /// Takes a piece of text in; returns the HTML of the blocks it closes, empty if it closes none.
    pub fn push(&mut self, piece: &str) -> String {
        self.work += piece.len() as u64;
        let blocks = self.splitter.push(piece);
        blocks.into_iter().map(|block| self.take(block)).collect()
    }

    /// The text that was not returned as HTML yet: the open block.
    pub fn open_text(&self) -> String {
        let fence = self.fence.as_deref().unwrap_or_default();
        format!("{fence}{}", self.splitter.rest())
    }

    /// Bytes that were scanned and parsed so far, for tests of cost.
    pub fn work(&self) -> u64 {
        self.work
    }

    fn take(&mut self, block: SourceBlock) -> String {
        match (block.kind, self.fence.take()) {
            (BlockKind::FenceMark, None) => self.fence = Some(block.text),
            (BlockKind::FenceMark, Some(fence)) => return self.render(&(fence + &block.text)),
            (BlockKind::CodeLine(_), Some(fence)) if fence.len() < LONGEST_BLOCK => {
                self.fence = Some(fence + &block.text);
            }
            (BlockKind::CodeLine(_), Some(fence)) => {
                // A long one is divided: the next part begins with the same first line.
                let first = fence.lines().next().unwrap_or_default();
                self.fence = Some(format!("{first}\n"));
                return self.render(&(fence + &block.text));
            }
            (_, _) => return self.render(&block.text),
        }
        String::new()
    }

    fn render(&mut self, text: &str) -> String {
        self.work += text.len() as u64;
        to_html(text)
    }
}

//! Writes the text and entities of a Markdown document: blocks, list marks, tables as preformatted text.

use pulldown_cmark::{Alignment, CodeBlockKind, CowStr, Event, Parser, Tag, TagEnd};

use crate::{
    entity_document::{BlockEnd, EntityDocument, EntitySpan},
    entity_types::EntityKind,
    html::{language_of, safe_address},
    layout::extensions,
    line::{MarkdownSpan, SpanStyle, plain_text},
    table::TableLayout,
    visible,
};

/// Columns of a table; a phone shows about so many.
const TABLE_COLUMNS: usize = 48;
/// Lists deeper than this are not indented further.
const DEEPEST: usize = 8;

/// The document of a whole text.
pub(crate) fn write(markdown: &str) -> EntityDocument {
    let mut writer = EntityWriter::default();
    for event in Parser::new_ext(markdown, extensions()) {
        writer.take(event);
    }
    let mut document = writer.document;
    document.text.truncate(document.text.trim_end().len());
    document.finish();
    document
}

#[derive(Default)]
struct EntityWriter {
    document: EntityDocument,
    /// Line ends to write before the next text.
    gap: usize,
    /// The mark of an item that has no text yet.
    mark: Option<String>,
    /// For each open list, the number of its next item.
    lists: Vec<Option<u64>>,
    /// For each open tag, the entity it began and where.
    open: Vec<Option<(EntityKind, usize)>>,
    table: Option<TableLayout>,
    cell: Option<String>,
    in_code: bool,
}

impl EntityWriter {
    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.begin(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => self.text(&text),
            Event::Html(text) => self.text(&text),
            Event::InlineHtml(text)
            | Event::FootnoteReference(text)
            | Event::InlineMath(text)
            | Event::DisplayMath(text) => self.text(&text),
            Event::Code(text) => self.code(&text),
            Event::SoftBreak | Event::HardBreak => self.line_break(),
            Event::Rule => {
                self.separate(2);
                self.text("———");
                self.separate(2);
            }
            Event::TaskListMarker(is_done) => {
                let mark = if is_done { "☑ " } else { "☐ " };
                self.mark = Some(mark.to_owned());
            }
        }
    }

    fn begin(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph | Tag::HtmlBlock => self.open_block(None),
            Tag::Heading { .. } => self.open_block(Some(EntityKind::Bold)),
            Tag::BlockQuote(_) => self.open_block(Some(EntityKind::Quote)),
            Tag::CodeBlock(kind) => self.begin_code(&kind),
            Tag::List(number) => {
                self.separate(if self.lists.is_empty() { 2 } else { 1 });
                self.lists.push(number);
                self.open.push(None);
            }
            Tag::Item => self.begin_item(),
            Tag::Table(alignments) => self.begin_table(alignments),
            Tag::TableHead | Tag::TableRow => {
                if let Some(table) = &mut self.table {
                    table.begin_row();
                }
                self.open.push(None);
            }
            Tag::TableCell => {
                self.cell = Some(String::new());
                self.open.push(None);
            }
            Tag::Emphasis => self.enter(Some(EntityKind::Italic)),
            Tag::Strong => self.enter(Some(EntityKind::Bold)),
            Tag::Strikethrough => self.enter(Some(EntityKind::Strikethrough)),
            Tag::Link { dest_url, .. } => self.begin_link(&dest_url, ""),
            Tag::Image { dest_url, .. } => self.begin_link(&dest_url, "image: "),
            _ => self.open.push(None),
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::TableCell => {
                let text = self.cell.take().unwrap_or_default();
                let span = MarkdownSpan::new(SpanStyle::PLAIN, text);
                if let Some(table) = &mut self.table {
                    table.add_cell(vec![span]);
                }
            }
            TagEnd::Table => {
                self.write_table();
                self.in_code = false;
            }
            TagEnd::CodeBlock => {
                self.in_code = false;
                let kept = self.document.text.trim_end_matches('\n').len();
                self.document.text.truncate(kept);
            }
            TagEnd::Item if self.mark.is_some() => self.settle(),
            TagEnd::List(_) => {
                self.lists.pop();
            }
            _ => {}
        }
        self.leave();
        match tag {
            TagEnd::Paragraph | TagEnd::CodeBlock | TagEnd::HtmlBlock if !self.lists.is_empty() => {
                self.separate(1);
            }
            TagEnd::Paragraph
            | TagEnd::HtmlBlock
            | TagEnd::Heading(_)
            | TagEnd::BlockQuote(_)
            | TagEnd::CodeBlock
            | TagEnd::Table => self.separate(2),
            TagEnd::Item => self.separate(1),
            TagEnd::List(_) => self.separate(if self.lists.is_empty() { 2 } else { 1 }),
            _ => {}
        }
    }

    /// Begins a block; inside of items blocks are on lines of their own, elsewhere apart.
    fn open_block(&mut self, kind: Option<EntityKind>) {
        self.separate(if self.lists.is_empty() { 2 } else { 1 });
        if kind.is_some() {
            self.enter(kind);
        } else {
            self.open.push(None);
        }
    }

    fn begin_code(&mut self, kind: &CodeBlockKind<'_>) {
        let language = match kind {
            CodeBlockKind::Fenced(info) => Some(language_of(info)).filter(|name| !name.is_empty()),
            CodeBlockKind::Indented => None,
        };
        self.in_code = true;
        self.open_block(Some(EntityKind::Pre { language }));
    }

    fn begin_item(&mut self) {
        if self.mark.is_some() {
            self.settle();
        } else {
            self.separate(1);
        }
        let mark = match self.lists.last_mut() {
            Some(Some(number)) => {
                let mark = format!("{number}. ");
                *number += 1;
                mark
            }
            _ => "• ".to_owned(),
        };
        self.mark = Some(mark);
        self.open.push(None);
    }

    fn begin_table(&mut self, alignments: Vec<Alignment>) {
        self.in_code = true;
        self.open_block(Some(EntityKind::Pre { language: None }));
        self.table = Some(TableLayout::new(alignments));
    }

    fn write_table(&mut self) {
        if let Some(table) = self.table.take() {
            let text = plain_text(&table.lines(TABLE_COLUMNS));
            self.append(text.trim_end());
        }
    }

    fn begin_link(&mut self, address: &str, words: &str) {
        let url = safe_address(address).filter(|url| url.to_ascii_lowercase().starts_with("http"));
        self.enter(url.map(|url| EntityKind::Link { url }));
        self.text(words);
    }

    /// Opens an entity, unless one of its kind is open or a table's cell is collected, which is plain.
    fn enter(&mut self, kind: Option<EntityKind>) {
        let is_open = |kind: &EntityKind| {
            let mut open = self.open.iter().flatten();
            open.any(|(other, _)| std::mem::discriminant(other) == std::mem::discriminant(kind))
        };
        let kind = kind.filter(|kind| self.cell.is_none() && !is_open(kind));
        if kind.is_some() {
            self.settle();
        }
        let start = self.document.text.len();
        self.open.push(kind.map(|kind| (kind, start)));
    }

    fn leave(&mut self) {
        if let Some((kind, start)) = self.open.pop().flatten() {
            let range = start..self.document.text.len();
            self.document.spans.push(EntitySpan { kind, range });
        }
    }

    fn code(&mut self, text: &CowStr<'_>) {
        self.enter(Some(EntityKind::Code));
        self.text(text);
        self.leave();
    }

    fn line_break(&mut self) {
        if self.cell.is_some() {
            self.text(" ");
        } else {
            self.append("\n");
            self.append(&self.indent(false));
        }
    }

    fn text(&mut self, text: &str) {
        match &mut self.cell {
            Some(cell) => visible::append(&text.replace('\n', " "), cell),
            None => self.append(text),
        }
    }

    fn append(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        self.settle();
        visible::append(text, &mut self.document.text);
    }

    fn separate(&mut self, gap: usize) {
        // A block that begins right behind the mark of its item stays on the mark's line.
        if self.mark.is_none() {
            self.gap = self.gap.max(gap);
        }
    }

    /// Writes what was put off until there is text: line ends, indentation, the mark of an item.
    fn settle(&mut self) {
        let gap = std::mem::take(&mut self.gap);
        if gap > 0 && !self.document.text.is_empty() {
            let at = self.document.text.len();
            self.document.ends.push(BlockEnd { at, gap });
            self.document.text.extend(std::iter::repeat_n('\n', gap));
            if !self.in_code {
                let indent = self.indent(self.mark.is_some());
                self.document.text.push_str(&indent);
            }
        }
        if let Some(mark) = self.mark.take() {
            self.document.text.push_str(&mark);
        }
    }

    fn indent(&self, is_mark: bool) -> String {
        let depth = self.lists.len().min(DEEPEST);
        "  ".repeat(if is_mark {
            depth.saturating_sub(1)
        } else {
            depth
        })
    }
}

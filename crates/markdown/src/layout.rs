//! Lays out one parsed Markdown block as lines: prefixes of lists and quotes, inline styles, word wrap.

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use unicode_width::UnicodeWidthStr;

use crate::{
    line::{MarkdownLine, MarkdownSpan, SpanStyle, append_span},
    options::{LineOptions, StyleMarks},
    table::TableLayout,
    visible::{self, visible},
    wrap::wrap,
};

/// The extensions of both outputs.
pub(crate) fn extensions() -> Options {
    Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS
}

/// The lines of a source text. `number` replaces the number of the first item of its first list.
pub(crate) fn lines(text: &str, number: Option<u64>, options: LineOptions) -> Vec<MarkdownLine> {
    let mut layout = BlockLayout::new(options, number);
    let parser = Parser::new_ext(text, extensions());
    let definitions = definitions(&parser);
    for event in parser {
        layout.take(event);
    }
    layout.flush();
    for definition in definitions {
        layout.separate();
        append_span(&mut layout.inline, SpanStyle::DIM, &definition);
        layout.flush();
    }
    layout.lines
}

/// A line of code, not wrapped.
pub(crate) fn code_line(text: &str) -> MarkdownLine {
    let mut line = MarkdownLine {
        verbatim: true,
        ..MarkdownLine::default()
    };
    line.append(SpanStyle::CODE, &visible(text));
    line
}

/// Definitions of link references. They are shown: a reference may be in a block that was rendered before.
fn definitions(parser: &Parser<'_>) -> Vec<String> {
    let mut found: Vec<(usize, String)> = parser
        .reference_definitions()
        .iter()
        .map(|(label, definition)| {
            let words = format!("[{}]: {}", visible(label), visible(&definition.dest));
            (definition.span.start, words.replace('\n', " "))
        })
        .collect();
    found.sort();
    found.into_iter().map(|(_, words)| words).collect()
}

/// What the lines of a list item or a quote begin with.
struct LinePrefix {
    first: MarkdownSpan,
    rest: MarkdownSpan,
    is_used: bool,
}

/// A code block inside a list item or a quote, or an indented one.
struct OpenCode {
    text: String,
    is_fenced: bool,
}

/// A link or an image whose text is being collected.
struct OpenLink {
    address: String,
    /// How many spans there were before it, and the length of the last of them.
    spans_before: usize,
    last_length: usize,
    is_image: bool,
}

/// Where inline text goes while a block is read.
struct BlockLayout {
    options: LineOptions,
    lines: Vec<MarkdownLine>,
    prefixes: Vec<LinePrefix>,
    /// The number of the next item, for each list that is open.
    lists: Vec<Option<u64>>,
    first_number: Option<u64>,
    inline: Vec<MarkdownSpan>,
    style: SpanStyle,
    outer_styles: Vec<SpanStyle>,
    links: Vec<OpenLink>,
    code: Option<OpenCode>,
    table: Option<TableLayout>,
    /// The next block is divided from the last one by an empty line.
    is_apart: bool,
}

impl BlockLayout {
    fn new(options: LineOptions, first_number: Option<u64>) -> Self {
        Self {
            options,
            lines: Vec::new(),
            prefixes: Vec::new(),
            lists: Vec::new(),
            first_number,
            inline: Vec::new(),
            style: SpanStyle::PLAIN,
            outer_styles: Vec::new(),
            links: Vec::new(),
            code: None,
            table: None,
            is_apart: false,
        }
    }

    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.begin(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => match &mut self.code {
                Some(code) => code.text.push_str(&text),
                None => self.text(&text),
            },
            Event::Code(text) => {
                let outer = self.style;
                self.style.code = true;
                self.mark("`");
                self.text(&text);
                self.mark("`");
                self.style = outer;
            }
            // Tags have no effect here and are shown as they are written.
            Event::Html(text) | Event::InlineHtml(text) => self.text(&text),
            Event::SoftBreak | Event::HardBreak => self.text("\n"),
            Event::Rule => {
                self.separate();
                let columns = self.room();
                append_span(&mut self.inline, SpanStyle::DIM, &"─".repeat(columns));
                self.flush();
                self.is_apart = true;
            }
            Event::TaskListMarker(is_done) => self.text(if is_done { "☑ " } else { "☐ " }),
            Event::FootnoteReference(text) | Event::InlineMath(text) | Event::DisplayMath(text) => {
                self.text(&text);
            }
        }
    }

    fn begin(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph | Tag::HtmlBlock => self.separate(),
            Tag::Heading { level, .. } => {
                self.separate();
                self.enter_style(|style| style.heading = true);
                self.mark(heading_mark(level));
            }
            Tag::BlockQuote(_) => {
                self.separate();
                self.enter(MarkdownSpan::new(SpanStyle::DIM, "│ "), "│ ");
            }
            Tag::CodeBlock(kind) => {
                self.separate();
                let is_fenced = kind.is_fenced();
                if let CodeBlockKind::Fenced(info) = kind {
                    self.fence(&format!("```{info}"));
                }
                self.code = Some(OpenCode {
                    text: String::new(),
                    is_fenced,
                });
            }
            Tag::List(number) => {
                self.flush();
                let first = self.first_number.take();
                self.lists
                    .push(number.map(|number| first.unwrap_or(number)));
            }
            Tag::Item => self.begin_item(),
            Tag::Table(alignments) => {
                self.separate();
                self.table = Some(TableLayout::new(alignments));
            }
            Tag::TableHead | Tag::TableRow => {
                if let Some(table) = &mut self.table {
                    table.begin_row();
                }
            }
            Tag::Emphasis => {
                self.mark("*");
                self.enter_style(|style| style.emphasis = true);
            }
            Tag::Strong => {
                self.mark("**");
                self.enter_style(|style| style.strong = true);
            }
            Tag::Strikethrough => {
                self.mark("~~");
                self.enter_style(|style| style.strikethrough = true);
            }
            Tag::Link { dest_url, .. } => self.begin_link(&dest_url, false),
            Tag::Image { dest_url, .. } => self.begin_link(&dest_url, true),
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::HtmlBlock => {
                self.flush();
                self.is_apart = true;
            }
            TagEnd::Heading(_) => {
                self.leave_style();
                self.flush();
                self.is_apart = true;
            }
            TagEnd::BlockQuote(_) => {
                self.flush();
                self.leave();
                self.is_apart = true;
            }
            TagEnd::CodeBlock => self.end_code(),
            TagEnd::List(_) => {
                self.lists.pop();
                self.is_apart |= self.lists.is_empty();
            }
            TagEnd::Item => {
                self.flush();
                self.leave();
            }
            TagEnd::Table => {
                let room = self.room();
                let table = self.table.take();
                for line in table.map(|table| table.lines(room)).unwrap_or_default() {
                    self.emit(line);
                }
                self.is_apart = true;
            }
            TagEnd::TableCell => {
                let cell = std::mem::take(&mut self.inline);
                if let Some(table) = &mut self.table {
                    table.add_cell(cell);
                }
            }
            TagEnd::Emphasis => self.end_style("*"),
            TagEnd::Strong => self.end_style("**"),
            TagEnd::Strikethrough => self.end_style("~~"),
            TagEnd::Link | TagEnd::Image => self.end_link(),
            _ => {}
        }
    }

    fn begin_item(&mut self) {
        self.separate();
        let mark = match self.lists.last_mut() {
            Some(Some(number)) => {
                let mark = format!("{number}. ");
                *number = number.saturating_add(1);
                mark
            }
            _ => "• ".to_owned(),
        };
        let rest = " ".repeat(mark.width());
        self.enter(MarkdownSpan::new(SpanStyle::DIM, mark), &rest);
    }

    fn end_code(&mut self) {
        let Some(code) = self.code.take() else {
            return;
        };
        for line in code.text.lines() {
            self.emit(code_line(line));
        }
        if code.is_fenced {
            self.fence("```");
        }
        self.is_apart = true;
    }

    fn fence(&mut self, mark: &str) {
        let mut line = MarkdownLine {
            verbatim: true,
            ..MarkdownLine::default()
        };
        line.append(SpanStyle::DIM, &visible(mark).replace('\n', " "));
        self.emit(line);
    }

    fn begin_link(&mut self, address: &str, is_image: bool) {
        if is_image {
            self.text("[image: ");
        }
        self.links.push(OpenLink {
            address: visible(address).replace('\n', " "),
            spans_before: self.inline.len(),
            last_length: self.inline.last().map_or(0, |span| span.text.len()),
            is_image,
        });
        self.enter_style(|style| style.link = true);
    }

    /// Shows the address behind the text, unless the text is the address.
    fn end_link(&mut self) {
        self.leave_style();
        let Some(link) = self.links.pop() else {
            return;
        };
        let text = self.text_since(&link);
        let text = text.trim();
        let address = link
            .address
            .strip_prefix("mailto:")
            .unwrap_or(&link.address);
        let is_same = text == address || text == link.address;
        if link.is_image {
            self.text("]");
        }
        if !is_same && !address.is_empty() {
            append_span(
                &mut self.inline,
                SpanStyle::DIM,
                &format!(" ({})", link.address),
            );
        }
    }

    fn text_since(&self, link: &OpenLink) -> String {
        let last = link.spans_before.checked_sub(1);
        let last = last.and_then(|last| self.inline.get(last)?.text.get(link.last_length..));
        let spans = self.inline.get(link.spans_before..).unwrap_or_default();
        let texts = spans.iter().map(|span| span.text.as_str());
        last.into_iter().chain(texts).collect()
    }

    fn text(&mut self, text: &str) {
        let mut shown = String::with_capacity(text.len());
        visible::append(text, &mut shown);
        append_span(&mut self.inline, self.style, &shown);
    }

    /// A mark of a style, where styles are not visible.
    fn mark(&mut self, mark: &str) {
        if self.options.marks == StyleMarks::Shown {
            append_span(&mut self.inline, self.style, mark);
        }
    }

    fn enter_style(&mut self, change: impl Fn(&mut SpanStyle)) {
        self.outer_styles.push(self.style);
        change(&mut self.style);
    }

    fn leave_style(&mut self) {
        self.style = self.outer_styles.pop().unwrap_or_default();
    }

    fn end_style(&mut self, mark: &str) {
        self.leave_style();
        self.mark(mark);
    }

    /// Begins a container. Where prefixes would take half of the width, only the mark of an item is kept, as text.
    fn enter(&mut self, first: MarkdownSpan, rest: &str) {
        let width = rest.width();
        if self.prefix_width() + width <= self.options.columns / 2 {
            let rest = MarkdownSpan::new(first.style, rest);
            self.prefixes.push(LinePrefix {
                first,
                rest,
                is_used: false,
            });
            return;
        }
        if first.text.trim() != "│" {
            self.inline.push(first);
        }
        let empty = || MarkdownSpan::new(SpanStyle::PLAIN, "");
        self.prefixes.push(LinePrefix {
            first: empty(),
            rest: empty(),
            is_used: true,
        });
    }

    /// Ends a container. An item without text still shows its mark.
    fn leave(&mut self) {
        let is_empty = self.prefixes.last().is_some_and(|prefix| !prefix.is_used);
        if is_empty {
            self.emit(MarkdownLine::default());
        }
        self.prefixes.pop();
    }

    fn prefix_width(&self) -> usize {
        self.prefixes
            .iter()
            .map(|prefix| prefix.rest.text.width())
            .sum()
    }

    fn room(&self) -> usize {
        self.options.columns.saturating_sub(self.prefix_width())
    }

    /// Ends text that is open and puts an empty line before the next block, if one is due.
    fn separate(&mut self) {
        self.flush();
        if std::mem::take(&mut self.is_apart) && !self.lines.is_empty() {
            let mut line = MarkdownLine::default();
            for prefix in &self.prefixes {
                line.append(prefix.rest.style, &prefix.rest.text);
            }
            line.trim_end();
            self.lines.push(line);
        }
    }

    /// Wraps the inline text that was collected.
    fn flush(&mut self) {
        let mut inline = std::mem::take(&mut self.inline);
        while let Some(last) = inline.last_mut() {
            let kept = last.text.trim_end().len();
            last.text.truncate(kept);
            if kept > 0 {
                break;
            }
            inline.pop();
        }
        if inline.is_empty() {
            return;
        }
        for spans in wrap(&inline, self.room()) {
            self.emit(MarkdownLine {
                spans,
                verbatim: false,
            });
        }
    }

    fn emit(&mut self, body: MarkdownLine) {
        let mut line = MarkdownLine {
            verbatim: body.verbatim,
            ..MarkdownLine::default()
        };
        for prefix in &mut self.prefixes {
            let span = if std::mem::replace(&mut prefix.is_used, true) {
                &prefix.rest
            } else {
                &prefix.first
            };
            line.append(span.style, &span.text);
        }
        for span in &body.spans {
            line.append(span.style, &span.text);
        }
        line.trim_end();
        self.lines.push(line);
    }
}

fn heading_mark(level: HeadingLevel) -> &'static str {
    match level {
        HeadingLevel::H1 => "# ",
        HeadingLevel::H2 => "## ",
        HeadingLevel::H3 => "### ",
        HeadingLevel::H4 => "#### ",
        HeadingLevel::H5 => "##### ",
        HeadingLevel::H6 => "###### ",
    }
}

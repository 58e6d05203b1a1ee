//! Renders Markdown as sanitized HTML: tags and attributes come from a fixed table, all text is escaped.
//!
//! Safe by construction: only [`HtmlWriter::tag`] writes `<`, and only with names from this file. Raw HTML is shown as
//! text, images as links, and an address is linked only if its scheme is http, https or mailto.

use pulldown_cmark::{Alignment, CodeBlockKind, Event, HeadingLevel, Parser, Tag, TagEnd};

use crate::{layout::extensions, visible::visible};

/// Containers deeper than this are not nested further: their text is shown, their tags are left out.
const DEEPEST: usize = 32;

/// Renders a whole text.
pub fn to_html(text: &str) -> String {
    let mut writer = HtmlWriter::default();
    for event in Parser::new_ext(text, extensions()) {
        writer.take(event);
    }
    writer.out
}

#[derive(Default)]
struct HtmlWriter {
    out: String,
    /// For each element that is open, what closes it; empty if it was left out.
    open: Vec<&'static str>,
    alignments: Vec<Alignment>,
    column: usize,
    is_header: bool,
}

impl HtmlWriter {
    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.begin(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text)
            | Event::Html(text)
            | Event::InlineHtml(text)
            | Event::FootnoteReference(text)
            | Event::InlineMath(text)
            | Event::DisplayMath(text) => self.text(&text),
            Event::Code(text) => {
                self.tag("<code>");
                self.text(&text);
                self.tag("</code>");
            }
            Event::SoftBreak | Event::HardBreak => self.tag("<br>\n"),
            Event::Rule => self.tag("<hr>\n"),
            Event::TaskListMarker(true) => self.text("☑ "),
            Event::TaskListMarker(false) => self.text("☐ "),
        }
    }

    fn begin(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph | Tag::HtmlBlock => self.enter("<p>", "</p>\n"),
            Tag::Heading { level, .. } => {
                let (open, close) = heading(level);
                self.enter(open, close);
            }
            Tag::BlockQuote(_) | Tag::List(_) | Tag::Item if self.open.len() >= DEEPEST => {
                self.open.push("");
            }
            Tag::BlockQuote(_) => self.enter("<blockquote>\n", "</blockquote>\n"),
            Tag::CodeBlock(kind) => self.begin_code(&kind),
            Tag::List(None) => self.enter("<ul>\n", "</ul>\n"),
            Tag::List(Some(number)) => {
                self.enter("<ol", "</ol>\n");
                if number != 1 {
                    self.attribute("start", &number.to_string());
                }
                self.tag(">\n");
            }
            Tag::Item => self.enter("<li>", "</li>\n"),
            Tag::Table(alignments) => {
                self.alignments = alignments;
                self.enter("<table>\n", "</table>\n");
            }
            Tag::TableHead | Tag::TableRow => {
                self.is_header = matches!(tag, Tag::TableHead);
                self.column = 0;
                self.enter("<tr>", "</tr>\n");
            }
            Tag::TableCell => self.begin_cell(),
            Tag::Emphasis => self.enter("<em>", "</em>"),
            Tag::Strong => self.enter("<strong>", "</strong>"),
            Tag::Strikethrough => self.enter("<del>", "</del>"),
            Tag::Link { dest_url, .. } => self.begin_link(&dest_url, ""),
            Tag::Image { dest_url, .. } => self.begin_link(&dest_url, "image: "),
            _ => self.open.push(""),
        }
    }

    fn end(&mut self, tag: TagEnd) {
        if tag == TagEnd::TableCell {
            self.column += 1;
        }
        let close = self.open.pop().unwrap_or_default();
        self.tag(close);
    }

    fn begin_code(&mut self, kind: &CodeBlockKind<'_>) {
        self.enter("<pre><code", "</code></pre>\n");
        if let CodeBlockKind::Fenced(info) = kind {
            let language = language_of(info);
            if !language.is_empty() {
                self.attribute("class", &format!("language-{language}"));
            }
        }
        self.tag(">");
    }

    fn begin_cell(&mut self) {
        let (open, close) = if self.is_header {
            ("<th", "</th>")
        } else {
            ("<td", "</td>")
        };
        self.enter(open, close);
        match self.alignments.get(self.column) {
            Some(Alignment::Right) => self.attribute("class", "right"),
            Some(Alignment::Center) => self.attribute("class", "center"),
            _ => {}
        }
        self.tag(">");
    }

    /// Links an address that is safe; of any other only the text is shown.
    fn begin_link(&mut self, address: &str, words: &str) {
        match safe_address(address) {
            Some(address) => {
                self.enter("<a", "</a>");
                self.attribute("href", &address);
                self.attribute("rel", "noopener noreferrer nofollow");
                self.attribute("target", "_blank");
                self.tag(">");
                self.text(words);
            }
            None => {
                self.open.push("");
                self.text(words);
            }
        }
    }

    fn enter(&mut self, open: &'static str, close: &'static str) {
        self.tag(open);
        self.open.push(close);
    }

    /// Writes markup. Only literals of this file get here.
    fn tag(&mut self, markup: &'static str) {
        self.out.push_str(markup);
    }

    fn attribute(&mut self, name: &'static str, value: &str) {
        self.out.push(' ');
        self.out.push_str(name);
        self.out.push_str("=\"");
        self.text(value);
        self.out.push('"');
    }

    fn text(&mut self, text: &str) {
        for letter in visible(text).chars() {
            match letter {
                '<' => self.out.push_str("&lt;"),
                '>' => self.out.push_str("&gt;"),
                '&' => self.out.push_str("&amp;"),
                '"' => self.out.push_str("&quot;"),
                '\'' => self.out.push_str("&#39;"),
                letter => self.out.push(letter),
            }
        }
    }
}

/// The language that the first line of a code fence names; only characters that are part of such names.
pub(crate) fn language_of(info: &str) -> String {
    let is_letter = |letter: &char| letter.is_ascii_alphanumeric() || "+#-_".contains(*letter);
    info.chars().take_while(is_letter).take(32).collect()
}

fn heading(level: HeadingLevel) -> (&'static str, &'static str) {
    match level {
        HeadingLevel::H1 => ("<h1>", "</h1>\n"),
        HeadingLevel::H2 => ("<h2>", "</h2>\n"),
        HeadingLevel::H3 => ("<h3>", "</h3>\n"),
        HeadingLevel::H4 => ("<h4>", "</h4>\n"),
        HeadingLevel::H5 => ("<h5>", "</h5>\n"),
        HeadingLevel::H6 => ("<h6>", "</h6>\n"),
    }
}

/// The address with only characters that a URL may hold, if its scheme is http, https or mailto.
pub(crate) fn safe_address(address: &str) -> Option<String> {
    let (scheme, rest) = address.split_once(':')?;
    let is_web = scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https");
    let is_known = is_web && rest.starts_with("//") || scheme.eq_ignore_ascii_case("mailto");
    // A browser removes some control characters before it reads the address.
    if !is_known || address.chars().any(char::is_control) {
        return None;
    }
    let mut encoded = String::with_capacity(address.len());
    for byte in address.bytes() {
        match byte {
            b'"'
            | b'\''
            | b'<'
            | b'>'
            | b'`'
            | b'{'
            | b'}'
            | b'|'
            | b'\\'
            | b'^'
            | b' '
            | 0x80.. => {
                encoded.push_str(&format!("%{byte:02X}"));
            }
            byte => encoded.push(char::from(byte)),
        }
    }
    Some(encoded)
}

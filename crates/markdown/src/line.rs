//! Styled lines of rendered Markdown, and their form as plain or ANSI-coloured text.

use unicode_width::UnicodeWidthStr;

/// The style of a span. All fields may be combined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpanStyle {
    pub strong: bool,
    pub emphasis: bool,
    pub strikethrough: bool,
    /// Inline code or a line of a code block.
    pub code: bool,
    pub heading: bool,
    pub link: bool,
    /// Less important than the text beside it: addresses, rules, borders, list marks.
    pub dim: bool,
}

impl SpanStyle {
    /// Text without a style.
    pub const PLAIN: Self = Self {
        strong: false,
        emphasis: false,
        strikethrough: false,
        code: false,
        heading: false,
        link: false,
        dim: false,
    };
    /// Borders, marks and addresses.
    pub const DIM: Self = Self {
        dim: true,
        ..Self::PLAIN
    };
    /// Code.
    pub const CODE: Self = Self {
        code: true,
        ..Self::PLAIN
    };

    /// The parameters of the escape sequence (SGR) that selects this style, such as `1;36`; empty for plain text.
    pub fn sgr(self) -> String {
        let codes = [
            (self.strong || self.heading, "1"),
            (self.dim, "2"),
            (self.emphasis, "3"),
            (self.link, "4"),
            (self.strikethrough, "9"),
            (self.code, "36"),
        ];
        let chosen: Vec<&str> = codes
            .iter()
            .filter(|(is_on, _)| *is_on)
            .map(|(_, code)| *code)
            .collect();
        chosen.join(";")
    }
}

/// Text of one style. Invariant: it holds no control character and no line end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MarkdownSpan {
    pub style: SpanStyle,
    pub text: String,
}

impl MarkdownSpan {
    pub(crate) fn new(style: SpanStyle, text: impl Into<String>) -> Self {
        Self {
            style,
            text: text.into(),
        }
    }
}

/// One line of rendered Markdown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MarkdownLine {
    pub spans: Vec<MarkdownSpan>,
    /// A line of code: it is not wrapped, so it may be wider than asked for.
    pub verbatim: bool,
}

impl MarkdownLine {
    /// Columns the line takes.
    pub fn width(&self) -> usize {
        self.spans.iter().map(|span| span.text.width()).sum()
    }

    /// The text without styles.
    pub fn text(&self) -> String {
        self.spans.iter().map(|span| span.text.as_str()).collect()
    }

    /// Appends text, to the last span if it has the same style.
    pub(crate) fn append(&mut self, style: SpanStyle, text: &str) {
        append_span(&mut self.spans, style, text);
    }

    /// Removes spaces at the end.
    pub(crate) fn trim_end(&mut self) {
        while let Some(last) = self.spans.last_mut() {
            let kept = last.text.trim_end_matches(' ').len();
            last.text.truncate(kept);
            if kept > 0 {
                break;
            }
            self.spans.pop();
        }
    }
}

/// Appends text, to the last span if it has the same style.
pub(crate) fn append_span(spans: &mut Vec<MarkdownSpan>, style: SpanStyle, text: &str) {
    match spans.last_mut() {
        Some(last) if last.style == style => last.text.push_str(text),
        _ if text.is_empty() => {}
        _ => spans.push(MarkdownSpan::new(style, text)),
    }
}

/// Lines as text without styles, each with a line end.
pub fn plain_text(lines: &[MarkdownLine]) -> String {
    lines.iter().map(|line| line.text() + "\n").collect()
}

/// Lines as text with ANSI escape sequences (SGR only), each with a line end.
pub fn ansi_text(lines: &[MarkdownLine]) -> String {
    let mut out = String::new();
    for line in lines {
        for span in &line.spans {
            let codes = span.style.sgr();
            if codes.is_empty() {
                out.push_str(&span.text);
            } else {
                out.push_str(&format!("\u{1b}[{codes}m{}\u{1b}[0m", span.text));
            }
        }
        out.push('\n');
    }
    out
}

//! A styled line of terminal text: sanitized pieces, measured before they are painted.

use anstyle::{AnsiColor, Style};
use rooftree_markdown::{MarkdownLine, SpanStyle};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::sanitize::clean_line;

/// How a piece looks. Without colours all look the same, so no meaning hangs on it alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextStyle {
    Plain,
    Dim,
    Strong,
    Good,
    Bad,
    Warning,
    Accent,
    /// The style of rendered Markdown.
    Markdown(SpanStyle),
}

impl TextStyle {
    /// What a terminal is sent before and after the text.
    fn sequences(self) -> (String, String) {
        match self {
            Self::Markdown(style) => match style.sgr() {
                codes if codes.is_empty() => (String::new(), String::new()),
                codes => (format!("\u{1b}[{codes}m"), "\u{1b}[0m".to_owned()),
            },
            other => {
                let style = other.style();
                (format!("{style}"), format!("{style:#}"))
            }
        }
    }

    fn style(self) -> Style {
        match self {
            Self::Plain | Self::Markdown(_) => Style::new(),
            Self::Dim => Style::new().dimmed(),
            Self::Strong => Style::new().bold(),
            Self::Good => AnsiColor::Green.on_default(),
            Self::Bad => AnsiColor::Red.on_default(),
            Self::Warning => AnsiColor::Yellow.on_default(),
            Self::Accent => AnsiColor::Cyan.on_default(),
        }
    }
}

/// Pieces of text beside each other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StyledLine(Vec<(TextStyle, String)>);

impl StyledLine {
    /// A line of one piece.
    pub fn of(look: TextStyle, text: impl AsRef<str>) -> Self {
        Self::default().with(look, text)
    }

    /// A line of the model's own words, which keep their spaces. They must be clean.
    pub fn of_text(text: String) -> Self {
        Self(vec![(TextStyle::Plain, text)])
    }

    /// A line of rendered Markdown, which is sanitized and keeps its spaces.
    pub fn of_markdown(line: MarkdownLine) -> Self {
        let pieces = line.spans.into_iter();
        Self(
            pieces
                .map(|span| (TextStyle::Markdown(span.style), span.text))
                .collect(),
        )
    }

    /// Adds a piece; whatever it holds, it stays on this line and is only shown.
    pub fn with(mut self, look: TextStyle, text: impl AsRef<str>) -> Self {
        let (text, lead) = (text.as_ref(), leading_spaces(text.as_ref()));
        let tail = if text.trim().is_empty() {
            ""
        } else {
            trailing_spaces(text)
        };
        self.0
            .push((look, format!("{lead}{}{tail}", clean_line(text))));
        self
    }

    /// This line and another one behind it.
    pub fn and(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    /// Columns it takes.
    pub fn width(&self) -> usize {
        self.0.iter().map(|(_, text)| text.width()).sum()
    }

    /// The same line in at most so many columns, with `…` where something was left out.
    pub fn cut(mut self, columns: usize) -> Self {
        if self.width() <= columns {
            return self;
        }
        let mut left = columns.saturating_sub(1);
        for (_, text) in &mut self.0 {
            let kept = prefix(text, left);
            left = if kept.len() < text.len() {
                0
            } else {
                left - text.width()
            };
            text.truncate(kept.len());
        }
        if let Some((_, text)) = self.0.iter_mut().rev().find(|(_, text)| !text.is_empty()) {
            text.push('…');
        }
        self
    }

    /// The same line as rows of at most so many columns, broken at words. Rows after the first begin with so many
    /// spaces. A word that is wider than a row is left whole, for people to copy.
    pub fn wrapped(self, columns: usize, indent: usize) -> Vec<Self> {
        if self.width() <= columns || columns <= 2 * indent {
            return vec![self];
        }
        let margin = || Self(vec![(TextStyle::Plain, " ".repeat(indent))]);
        let (mut rows, mut row, mut is_blank) = (Vec::new(), Self::default(), true);
        for (look, text) in self.0 {
            for word in text.split_inclusive(' ') {
                if !is_blank && row.width() + word.trim_end().width() > columns {
                    rows.push(std::mem::replace(&mut row, margin()));
                    is_blank = true;
                }
                is_blank &= word.trim().is_empty();
                match row.0.last_mut() {
                    Some((last, text)) if *last == look => text.push_str(word),
                    _ => row.0.push((look, word.to_owned())),
                }
            }
        }
        rows.push(row);
        rows.into_iter().map(Self::without_trailing_space).collect()
    }

    fn without_trailing_space(mut self) -> Self {
        if let Some((_, text)) = self.0.last_mut() {
            text.truncate(text.trim_end().len());
        }
        self
    }

    /// As bytes for a terminal or a file.
    pub fn paint(&self, colours: bool) -> String {
        let mut out = String::new();
        for (look, text) in &self.0 {
            if colours && *look != TextStyle::Plain && !text.is_empty() {
                let (before, after) = look.sequences();
                out.push_str(&format!("{before}{text}{after}"));
            } else {
                out.push_str(text);
            }
        }
        out
    }
}

fn leading_spaces(text: &str) -> &str {
    text.get(..text.len() - text.trim_start_matches(' ').len())
        .unwrap_or_default()
}

fn trailing_spaces(text: &str) -> &str {
    text.get(text.trim_end_matches(' ').len()..)
        .unwrap_or_default()
}

/// As much of the beginning as fits into so many columns.
pub fn prefix(text: &str, columns: usize) -> &str {
    let mut taken = 0;
    for (at, letter) in text.char_indices() {
        taken += letter.width().unwrap_or(0);
        if taken > columns {
            return text.get(..at).unwrap_or_default();
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_cut_by_columns_not_by_letters() {
        let line = StyledLine::of(TextStyle::Good, "⏺ ")
            .with(TextStyle::Plain, "日本語のファイル")
            .with(TextStyle::Dim, " 3 ms");
        assert_eq!(line.clone().cut(40).paint(false), "⏺ 日本語のファイル 3 ms");
        let cut = line.cut(9);
        assert_eq!(cut.paint(false), "⏺ 日本語…");
        assert_eq!(cut.width(), 9);
    }

    #[test]
    fn n_21_a_notice_is_wrapped_at_words_below_its_own_text() {
        let line = StyledLine::of(TextStyle::Warning, "! ")
            .with(
                TextStyle::Plain,
                "this folder is not trusted; rooftree trust, or --trust for once",
            )
            .with(TextStyle::Dim, " — rooftree trust --show");
        let rows: Vec<String> = line
            .clone()
            .wrapped(36, 2)
            .iter()
            .map(|row| row.paint(false))
            .collect();
        assert_eq!(
            rows,
            [
                "! this folder is not trusted;",
                "  rooftree trust, or --trust for",
                "  once — rooftree trust --show"
            ]
        );
        assert_eq!(line.clone().wrapped(200, 2).len(), 1);
        let path = StyledLine::of(TextStyle::Plain, "see /a/path/that/is/wider/than/a/row now");
        assert_eq!(
            path.wrapped(12, 2)
                .iter()
                .map(|row| row.paint(false))
                .collect::<Vec<_>>(),
            ["see", "  /a/path/that/is/wider/than/a/row", "  now"]
        );
    }

    #[test]
    fn nothing_in_a_piece_can_leave_its_line() {
        let line = StyledLine::of(TextStyle::Plain, "rm x\n\u{1b}[2J ✓ all done");
        assert_eq!(line.paint(true), "rm x ✓ all done");
    }

    #[test]
    fn colours_wrap_pieces_and_are_absent_when_not_wanted() {
        let line = StyledLine::of(TextStyle::Bad, "no").with(TextStyle::Plain, " way");
        assert_eq!(line.paint(true), "\u{1b}[31mno\u{1b}[0m way");
        assert_eq!(line.paint(false), "no way");
    }
}

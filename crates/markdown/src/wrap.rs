//! Wraps styled spans at words to a width in columns, by Unicode display width.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::line::{MarkdownSpan, SpanStyle, append_span};

const JOINER: char = '\u{200d}';
const EMOJI_SELECTOR: char = '\u{fe0f}';

/// What a row is filled from.
enum WrapToken {
    Word(WrapWord),
    LineEnd,
}

/// Text that is kept together where it fits, and the spaces before it.
#[derive(Default)]
struct WrapWord {
    spaces: usize,
    space_style: SpanStyle,
    pieces: Vec<MarkdownSpan>,
}

impl WrapWord {
    fn width(&self) -> usize {
        self.pieces.iter().map(|piece| piece.text.width()).sum()
    }
}

/// The spans in rows of at most so many columns. A line end in the text begins a new row.
pub(crate) fn wrap(spans: &[MarkdownSpan], columns: usize) -> Vec<Vec<MarkdownSpan>> {
    let columns = columns.max(2);
    let mut rows = Vec::new();
    let mut row: Vec<MarkdownSpan> = Vec::new();
    let mut filled = 0;
    for token in tokens(spans) {
        let word = match token {
            WrapToken::LineEnd => {
                rows.push(std::mem::take(&mut row));
                filled = 0;
                continue;
            }
            WrapToken::Word(word) => word,
        };
        let width = word.width();
        if filled > 0 && filled + word.spaces + width > columns {
            rows.push(std::mem::take(&mut row));
            filled = 0;
        } else if filled > 0 {
            append_span(&mut row, word.space_style, &" ".repeat(word.spaces));
            filled += word.spaces;
        }
        if width <= columns {
            filled += width;
            for piece in &word.pieces {
                append_span(&mut row, piece.style, &piece.text);
            }
        } else {
            filled = split_word(&word.pieces, columns, &mut row, &mut rows);
        }
    }
    rows.push(row);
    rows
}

/// Breaks a word that is wider than a row, between characters. Returns how much of the last row is filled.
fn split_word(
    pieces: &[MarkdownSpan],
    columns: usize,
    row: &mut Vec<MarkdownSpan>,
    rows: &mut Vec<Vec<MarkdownSpan>>,
) -> usize {
    let mut filled = 0;
    let mut before = 0;
    for piece in pieces {
        for letter in piece.text.chars() {
            let width = match letter {
                EMOJI_SELECTOR => 2_usize.saturating_sub(before),
                letter => letter.width().unwrap_or(0),
            };
            if filled + width > columns {
                rows.push(std::mem::take(row));
                filled = 0;
            }
            append_span(row, piece.style, letter.encode_utf8(&mut [0; 4]));
            filled += width;
            before = width;
        }
    }
    filled
}

/// Divides text into words. Between characters of double width, as in Chinese, a row may break anywhere.
fn tokens(spans: &[MarkdownSpan]) -> Vec<WrapToken> {
    let mut tokens = Vec::new();
    let mut word = WrapWord::default();
    let (mut is_wide, mut before) = (false, ' ');
    for span in spans {
        for letter in span.text.chars() {
            let width = letter.width().unwrap_or(0);
            let breaks = before != JOINER && width > 0 && (is_wide || width > 1);
            if matches!(letter, ' ' | '\n') || breaks {
                finish_word(&mut word, &mut tokens);
            }
            match letter {
                '\n' => {
                    word = WrapWord::default();
                    tokens.push(WrapToken::LineEnd);
                }
                ' ' => {
                    word.spaces += 1;
                    word.space_style = span.style;
                }
                letter => append_span(
                    &mut word.pieces,
                    span.style,
                    letter.encode_utf8(&mut [0; 4]),
                ),
            }
            if width > 0 || letter == '\n' {
                is_wide = width > 1;
            }
            before = letter;
        }
    }
    finish_word(&mut word, &mut tokens);
    tokens
}

fn finish_word(word: &mut WrapWord, tokens: &mut Vec<WrapToken>) {
    if !word.pieces.is_empty() {
        tokens.push(WrapToken::Word(std::mem::take(word)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &str, columns: usize) -> Vec<String> {
        wrap(&[MarkdownSpan::new(SpanStyle::PLAIN, text)], columns)
            .into_iter()
            .map(|row| row.into_iter().map(|span| span.text).collect())
            .collect()
    }

    #[test]
    fn rows_break_at_words_and_long_words_anywhere() {
        assert_eq!(rows("the quick brown fox", 10), ["the quick", "brown fox"]);
        assert_eq!(rows("abcdefghij", 4), ["abcd", "efgh", "ij"]);
        assert_eq!(rows("a  b\n c", 9), ["a  b", "c"]);
    }

    #[test]
    fn wide_characters_count_twice_and_may_be_broken_between() {
        assert_eq!(rows("ab 日本語日本語", 9), ["ab 日本語", "日本語"]);
        assert_eq!(
            rows("👨\u{200d}👩\u{200d}👧 x", 4),
            ["👨\u{200d}👩\u{200d}👧 x"]
        );
        assert_eq!(rows("", 4), [""]);
    }

    #[test]
    fn a_word_of_two_styles_is_not_broken_between_them() {
        let strong = SpanStyle {
            strong: true,
            ..SpanStyle::PLAIN
        };
        let spans = [
            MarkdownSpan::new(SpanStyle::PLAIN, "one two"),
            MarkdownSpan::new(strong, "fold"),
        ];
        let wrapped = wrap(&spans, 8);
        assert_eq!(wrapped.len(), 2);
        assert_eq!(wrapped[1].len(), 2);
    }
}

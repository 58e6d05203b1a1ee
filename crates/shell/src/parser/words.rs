//! Parses words: quotes, escapes and the characters that expand.

use super::{ShellParseError, ShellParser, ShellWord};
use crate::{cursor::ends_word, syntax_tree::WordPiece};

/// Whether a place is inside double quotes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Quoting {
    Bare,
    Double,
}

impl ShellParser<'_> {
    /// Whether a word begins here. `<(` and `>(` begin words too.
    pub(super) fn is_at_word(&self) -> bool {
        self.cursor.peek().is_some_and(|next| !ends_word(next)) || self.is_at_process()
    }

    fn is_at_process(&self) -> bool {
        self.cursor.is_at("<(") || self.cursor.is_at(">(")
    }

    /// One word.
    pub(super) fn word(&mut self) -> Result<ShellWord, ShellParseError> {
        let (mut word, start) = (ShellWord::default(), self.cursor.at());
        while let Some(next) = self.cursor.peek() {
            if self.is_at_process() {
                self.cursor.take(if next == '<' { "<(" } else { ">(" });
                let script = self.substituted()?;
                word.pieces.push(WordPiece::Value {
                    is_quoted: true,
                    scripts: vec![script],
                });
            } else if next == '(' {
                return self.cursor.refuse("a parenthesis stands inside a word");
            } else if ends_word(next) {
                break;
            } else {
                self.piece(next, &mut word, start)?;
            }
        }
        // After words such as `declare`, a place in an array may go over blanks.
        let text = self.cursor.since(start);
        if word.pieces.contains(&WordPiece::Pattern('[')) && text.len() > 1 && !text.contains(']') {
            return self.cursor.refuse("a bracket does not end");
        }
        // A bracket that is all of a word is the command of that name.
        if word.pieces == [WordPiece::Pattern('[')] {
            word = ShellWord::text("[");
        }
        if !self.pending.is_empty() && self.cursor.since(start).contains('\n') {
            return self
                .cursor
                .refuse("a word goes over the line after which a here-document begins");
        }
        Ok(word)
    }

    fn piece(
        &mut self,
        next: char,
        word: &mut ShellWord,
        start: usize,
    ) -> Result<(), ShellParseError> {
        match next {
            '\\' => {
                self.cursor.next();
                match self.cursor.next_raw() {
                    Some(escaped) => word.push(escaped),
                    None => return self.cursor.refuse("it ends in a backslash"),
                }
            }
            '\'' => {
                self.cursor.next();
                match self.cursor.take_raw_until('\'') {
                    Some(text) => word.push_str(text),
                    None => return self.cursor.refuse("a quote does not end"),
                }
            }
            '"' => {
                self.cursor.next();
                self.double_quoted(word)?;
            }
            '$' | '`' => self.deeper(|parser| parser.expansion(word, Quoting::Bare))?,
            '{' if self.cursor.is_at("{}") => {
                self.cursor.take("{}");
                word.push_str("{}");
            }
            '*' | '?' | '[' | '{' => {
                self.cursor.next();
                word.pieces.push(WordPiece::Pattern(next));
            }
            '~' if self.cursor.at() == start => {
                self.cursor.next();
                word.pieces.push(WordPiece::Pattern(next));
            }
            _ => {
                self.cursor.next();
                word.push(next);
            }
        }
        Ok(())
    }

    /// After `"`, up to and with the one that ends it.
    pub(super) fn double_quoted(&mut self, word: &mut ShellWord) -> Result<(), ShellParseError> {
        word.push_str("");
        loop {
            match self.cursor.peek() {
                None => return self.cursor.refuse("a quote does not end"),
                Some('"') => {
                    self.cursor.next();
                    return Ok(());
                }
                Some('\\') => {
                    self.cursor.next();
                    match self.cursor.next_raw() {
                        Some(escaped @ ('$' | '`' | '"' | '\\')) => word.push(escaped),
                        Some(other) => {
                            word.push('\\');
                            word.push(other);
                        }
                        None => return self.cursor.refuse("a quote does not end"),
                    }
                }
                Some('$' | '`') => self.deeper(|parser| parser.expansion(word, Quoting::Double))?,
                Some(next) => {
                    self.cursor.next();
                    word.push(next);
                }
            }
        }
    }

    /// After `$'`, up to and with the quote that ends it.
    pub(super) fn ansi_quoted(&mut self, word: &mut ShellWord) -> Result<(), ShellParseError> {
        word.push_str("");
        loop {
            match self.cursor.next_raw() {
                None => return self.cursor.refuse("a quote does not end"),
                Some('\'') => return Ok(()),
                Some('\\') => {
                    let escaped = self.ansi_escape()?;
                    word.push(escaped);
                }
                Some(next) => word.push(next),
            }
        }
    }

    fn ansi_escape(&mut self) -> Result<char, ShellParseError> {
        let escaped = self.cursor.next_raw();
        Ok(match escaped {
            Some('n') => '\n',
            Some('t') => '\t',
            Some('r') => '\r',
            Some('a') => '\u{7}',
            Some('b') => '\u{8}',
            Some('e' | 'E') => '\u{1b}',
            Some('f') => '\u{c}',
            Some('v') => '\u{b}',
            Some(same @ ('\\' | '"' | '?')) => same,
            Some('x') => return self.ansi_number(0, 2, 16),
            Some('u') => return self.ansi_number(0, 4, 16),
            Some('U') => return self.ansi_number(0, 8, 16),
            Some(digit @ '0'..='7') => {
                return self.ansi_number(digit.to_digit(8).unwrap_or(0), 2, 8);
            }
            // Shells without this kind of quote end it at an escaped one.
            _ => return self.cursor.refuse("an escape in $'…' is not understood"),
        })
    }

    /// Only characters that are one byte: what larger numbers become depends on the locale.
    fn ansi_number(&mut self, first: u32, most: usize, base: u32) -> Result<char, ShellParseError> {
        let (mut value, mut count) = (first, 0);
        while count < most {
            let Some(digit) = self
                .cursor
                .rest()
                .chars()
                .next()
                .and_then(|next| next.to_digit(base))
            else {
                break;
            };
            self.cursor.next_raw();
            value = value.saturating_mul(base).saturating_add(digit);
            count += 1;
        }
        let has_digits = count > 0 || base == 8;
        match char::from_u32(value).filter(|c| c.is_ascii() && *c != '\0' && has_digits) {
            Some(number) => Ok(number),
            None => self.cursor.refuse("an escape in $'…' is not understood"),
        }
    }
}

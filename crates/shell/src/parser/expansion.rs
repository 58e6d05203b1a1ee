//! Parses expansions that begin with `$` or a backtick: variables, arithmetic, command substitutions.

use super::{ShellParseError, ShellParser, ShellScript, ShellWord, name_at, words::Quoting};
use crate::syntax_tree::WordPiece;

impl ShellParser<'_> {
    /// Takes what `$` or a backtick begins.
    pub(super) fn expansion(
        &mut self,
        word: &mut ShellWord,
        quoting: Quoting,
    ) -> Result<(), ShellParseError> {
        let is_quoted = quoting == Quoting::Double;
        if self.cursor.next() == Some('`') {
            let script = self.backticks()?;
            word.pieces.push(WordPiece::Value {
                is_quoted,
                scripts: vec![script],
            });
            return Ok(());
        }
        let value = |scripts| WordPiece::Value { is_quoted, scripts };
        match self.cursor.peek() {
            Some('(') if self.cursor.peek_second() == Some('(') => {
                self.cursor.take("((");
                let inner = self.arithmetic()?;
                word.pieces.push(value(inner.scripts().cloned().collect()));
            }
            Some('(') => {
                self.cursor.next();
                let script = self.substituted()?;
                word.pieces.push(value(vec![script]));
            }
            Some('{') => {
                self.cursor.next();
                let braced = self.braced(quoting)?;
                word.pieces.push(braced);
            }
            Some('[') => return self.cursor.refuse("`$[` is not understood"),
            Some('\'') if !is_quoted => {
                self.cursor.next();
                self.ansi_quoted(word)?;
            }
            Some('"') if !is_quoted => {
                self.cursor.next();
                self.double_quoted(word)?;
            }
            Some(next) if next.is_ascii_alphabetic() || next == '_' => {
                name_at(&mut self.cursor);
                word.pieces.push(value(Vec::new()));
            }
            Some('0'..='9' | '@' | '*' | '#' | '?' | '-' | '$' | '!') => {
                let is_list = matches!(self.cursor.next(), Some('@'));
                word.pieces.push(WordPiece::Value {
                    is_quoted: is_quoted && !is_list,
                    scripts: Vec::new(),
                });
            }
            _ => word.push('$'),
        }
        Ok(())
    }

    /// After `$(`, `<(` or `>(`, up to and with `)`.
    pub(super) fn substituted(&mut self) -> Result<ShellScript, ShellParseError> {
        if !self.pending.is_empty() {
            return self
                .cursor
                .refuse("a substitution stands between a here-document and its text");
        }
        let script = self.deeper(Self::subshell)?;
        if !self.pending.is_empty() {
            return self
                .cursor
                .refuse("a here-document does not end inside its substitution");
        }
        Ok(script)
    }

    /// After a backtick, up to and with the next one. Escapes inside are read differently by place.
    fn backticks(&mut self) -> Result<ShellScript, ShellParseError> {
        let text = self.cursor.take_raw_until('`');
        match text.filter(|text| !text.contains('\\') && self.pending.is_empty()) {
            None => self.cursor.refuse("backticks are not understood"),
            Some(text) => {
                let mut inner = ShellParser::new(text, self.depth);
                let script = inner.deeper(Self::all)?;
                self.doubts.append(&mut inner.doubts);
                Ok(script)
            }
        }
    }

    /// After `${`, up to and with `}`: a value with the commands inside.
    ///
    /// A list stays several words in quotes, and so does a value that falls back to one: `"${x:-$@}"`.
    fn braced(&mut self, quoting: Quoting) -> Result<WordPiece, ShellParseError> {
        let is_length = self.cursor.peek() == Some('#') && self.cursor.peek_second() != Some('}');
        if is_length {
            self.cursor.next();
        }
        let is_all = self.cursor.peek() == Some('@');
        if name_at(&mut self.cursor).is_none() && !self.take_special() {
            return self.cursor.refuse("the value in `${…}` has no plain name");
        }
        let is_each = self.cursor.take("[@]");
        if !is_each && !self.cursor.take("[*]") && self.cursor.peek() == Some('[') {
            return self.cursor.refuse("a place in an array is computed");
        }
        let is_one = quoting == Quoting::Double && (is_length || !(is_all || is_each));
        if self.cursor.take("}") {
            return Ok(WordPiece::Value {
                is_quoted: is_one,
                scripts: Vec::new(),
            });
        }
        if is_length {
            return self.cursor.refuse("`${#…}` is not understood");
        }
        self.operator()?;
        let operand = self.operand(quoting)?;
        let scripts = operand.scripts().cloned().collect();
        Ok(WordPiece::Value {
            is_quoted: is_one && !operand.may_split(),
            scripts,
        })
    }

    fn take_special(&mut self) -> bool {
        let digits = self.cursor.take_while(|next| next.is_ascii_digit());
        !digits.is_empty()
            || ["@", "*", "?", "$", "#", "-"]
                .iter()
                .any(|name| self.cursor.take(name))
    }

    /// What is done with the value. Setting it and running it are not understood.
    fn operator(&mut self) -> Result<(), ShellParseError> {
        const KNOWN: [&str; 16] = [
            ":-", ":+", ":?", "-", "+", "?", "##", "#", "%%", "%", "//", "/", "^^", "^", ",,", ",",
        ];
        const SHOWN: [&str; 4] = ["@Q", "@U", "@L", "@u"];
        if KNOWN
            .iter()
            .chain(&SHOWN)
            .any(|sign| self.cursor.take(sign))
        {
            return Ok(());
        }
        let mut ahead = self.cursor;
        let is_slice = ahead.take(":");
        ahead.take_while(|next| next.is_ascii_digit() || matches!(next, ':' | ' '));
        if is_slice && ahead.peek() == Some('}') {
            self.cursor = ahead;
            return Ok(());
        }
        self.cursor
            .refuse("what `${…}` does with its value is not understood")
    }

    fn operand(&mut self, quoting: Quoting) -> Result<ShellWord, ShellParseError> {
        let mut word = ShellWord::default();
        loop {
            let next = self.cursor.peek();
            match (next, quoting) {
                (Some('}'), _) => {
                    self.cursor.next();
                    return Ok(word);
                }
                (Some('$' | '`'), _) => {
                    self.deeper(|parser| parser.expansion(&mut word, quoting))?
                }
                (Some('\''), Quoting::Bare) => {
                    self.cursor.next();
                    if self.cursor.take_raw_until('\'').is_none() {
                        return self.cursor.refuse("a quote does not end");
                    }
                }
                (Some('"'), Quoting::Bare) => {
                    self.cursor.next();
                    self.double_quoted(&mut word)?;
                }
                // Quotes in quotes, and what else each version of bash reads in its own way.
                (None | Some('\'' | '"' | '\\' | '{' | '\n' | '<' | '>' | '(' | ')'), _) => {
                    return self
                        .cursor
                        .refuse("what stands in `${…}` is not understood");
                }
                (Some(next), _) => {
                    self.cursor.next();
                    word.push(next);
                }
            }
        }
    }
}

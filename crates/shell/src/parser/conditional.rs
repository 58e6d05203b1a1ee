//! Parses `[[ … ]]` and arithmetic: no commands of their own, but words in which commands may hide.

use super::{CompoundCommand, ShellParseError, ShellParser, ShellWord, words::Quoting};
use crate::syntax_tree::WordPiece;

/// Comparisons that calculate: a value such as `a[$(id)]` would run.
const CALCULATING: [&str; 8] = ["-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-v", "-R"];

/// Comparisons of two words.
const COMPARING: [&str; 13] = [
    "==", "=", "!=", "=~", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef",
];

impl ShellParser<'_> {
    /// After `[[`, up to and with `]]`.
    pub(super) fn conditional(&mut self) -> Result<CompoundCommand, ShellParseError> {
        let mut words = Vec::new();
        self.alternatives(&mut words)?;
        if !self.take_word_if("]]") {
            return self
                .cursor
                .refuse("`[[` does not end, or holds what is not understood");
        }
        let calculates = |word: &ShellWord| {
            word.literal()
                .is_some_and(|text| CALCULATING.contains(&text.as_str()))
        };
        if words.iter().any(calculates) {
            self.doubts.push("it calculates");
        }
        self.with_redirects(CompoundCommand {
            words,
            ..CompoundCommand::default()
        })
    }

    /// Terms joined by `&&` and `||`.
    fn alternatives(&mut self, words: &mut Vec<ShellWord>) -> Result<(), ShellParseError> {
        loop {
            self.skip_lines()?;
            self.deeper(|parser| parser.term(words))?;
            self.skip_lines()?;
            if !self.cursor.take("&&") && !self.cursor.take("||") {
                return Ok(());
            }
        }
    }

    fn term(&mut self, words: &mut Vec<ShellWord>) -> Result<(), ShellParseError> {
        if self.take_word_if("!") {
            self.cursor.skip_blanks();
            return self.deeper(|parser| parser.term(words));
        }
        if self.cursor.take("(") {
            self.alternatives(words)?;
            if self.cursor.take(")") {
                return Ok(());
            }
            return self.cursor.refuse("a parenthesis in `[[` does not end");
        }
        let first = self.operand_of_test()?;
        let is_unary = first
            .literal()
            .is_some_and(|text| text.len() == 2 && text.starts_with('-'));
        words.push(first);
        self.cursor.skip_blanks();
        if is_unary {
            words.push(self.operand_of_test()?);
            return Ok(());
        }
        let is_process = self.cursor.is_at("<(") || self.cursor.is_at(">(");
        if is_process || !(self.cursor.take("<") || self.cursor.take(">")) {
            if !self.is_at_word() || self.is_at_whole("]]") {
                return Ok(());
            }
            let operator = self.word()?;
            if !operator
                .literal()
                .is_some_and(|text| COMPARING.contains(&text.as_str()))
            {
                return self.cursor.refuse("a comparison in `[[` is not understood");
            }
            words.push(operator);
        }
        self.cursor.skip_blanks();
        words.push(self.operand_of_test()?);
        Ok(())
    }

    fn operand_of_test(&mut self) -> Result<ShellWord, ShellParseError> {
        if !self.is_at_word() || self.is_at_whole("]]") {
            return self
                .cursor
                .refuse("`[[` does not end, or holds what is not understood");
        }
        self.word()
    }

    /// After `((`, up to and with `))`.
    pub(super) fn arithmetic(&mut self) -> Result<ShellWord, ShellParseError> {
        let (mut word, mut open) = (ShellWord::default(), 0_usize);
        loop {
            match self.cursor.peek() {
                Some(')') if open == 0 => break,
                Some(')') => open -= 1,
                Some('(') => open += 1,
                Some('$' | '`') => {
                    self.deeper(|parser| parser.expansion(&mut word, Quoting::Bare))?;
                    continue;
                }
                None | Some('\'' | '"' | '\\' | '\n' | '#') => {
                    return self.cursor.refuse("a calculation is not understood");
                }
                Some('<' | '>') if self.cursor.peek_second() == Some('(') => {
                    return self.cursor.refuse("a calculation is not understood");
                }
                Some(_) => {}
            }
            self.cursor
                .next()
                .into_iter()
                .for_each(|next| word.push(next));
        }
        if !self.cursor.take("))") {
            return self.cursor.refuse("a calculation does not end");
        }
        let is_plain = |text: &str| !text.contains(|c: char| c.is_alphabetic() || "_[".contains(c));
        if !word
            .pieces
            .iter()
            .all(|piece| matches!(piece, WordPiece::Text(text) if is_plain(text)))
        {
            self.doubts.push("it calculates");
        }
        Ok(word)
    }
}

//! `[[ … ]]` and arithmetic: no commands of their own, but words in which commands may hide.

use super::{Compound, Parser, Refusal, Word, words::Quoting};
use crate::shell::tree::Piece;

/// Comparisons that calculate: a value such as `a[$(id)]` would run.
const CALCULATING: [&str; 8] = ["-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-v", "-R"];

impl Parser<'_> {
    /// After `[[`, up to and with `]]`.
    pub(super) fn conditional(&mut self) -> Result<Compound, Refusal> {
        let mut words = Vec::new();
        loop {
            self.skip_lines()?;
            if self.take_word_if("]]") {
                break;
            }
            let is_operator = ["&&", "||", "(", ")", "<", ">"].iter().any(|sign| self.cursor.take(sign));
            if is_operator {
                continue;
            }
            if !self.is_at_word() {
                return self.cursor.refuse("`[[` does not end, or holds what is not understood");
            }
            words.push(self.word()?);
        }
        if words.is_empty() {
            return self.cursor.refuse("`[[` is empty");
        }
        let calculates =
            |word: &Word| word.literal().is_some_and(|text| CALCULATING.contains(&text.as_str()));
        if words.iter().any(calculates) {
            self.doubts.push("it calculates");
        }
        self.with_redirects(Compound { words, ..Compound::default() })
    }

    /// After `((`, up to and with `))`.
    pub(super) fn arithmetic(&mut self) -> Result<Word, Refusal> {
        let (mut word, mut open) = (Word::default(), 0_usize);
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
            self.cursor.next().into_iter().for_each(|next| word.push(next));
        }
        if !self.cursor.take("))") {
            return self.cursor.refuse("a calculation does not end");
        }
        let is_plain = |text: &str| !text.contains(|c: char| c.is_alphabetic() || "_[".contains(c));
        if !word.pieces.iter().all(|piece| matches!(piece, Piece::Text(text) if is_plain(text))) {
            self.doubts.push("it calculates");
        }
        Ok(word)
    }
}

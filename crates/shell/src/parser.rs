//! Bash parser by recursive descent: lists, pipelines and simple commands.
//!
//! It fails closed. Syntax that bash reads differently depending on settings, versions or corner cases is refused,
//! and a refused line is never allowed by a rule. `tests/it/shell/bash.rs` compares it with a real bash.

mod compound;
mod conditional;
mod expansion;
mod heredoc;
mod redirect;
mod words;

use super::{
    ShellParseError,
    cursor::{ShellCursor, ends_word},
    syntax_tree::{
        CompoundCommand, ShellAssignment, ShellCommand, ShellScript, ShellWord, SimpleCommand,
    },
};
use heredoc::PendingHeredoc;

/// Deeper nesting is not understood.
const DEPTH: usize = 64;

/// Words that mean something where a command may begin.
const RESERVED: [&str; 20] = [
    "if", "then", "elif", "else", "fi", "while", "until", "do", "done", "for", "select", "case",
    "esac", "in", "function", "{", "}", "[[", "coproc", "]]",
];

/// What the grammar is reading, and what it has found out so far.
pub(super) struct ShellParser<'t> {
    cursor: ShellCursor<'t>,
    depth: usize,
    /// Here-documents whose text begins on the next line.
    pending: Vec<PendingHeredoc>,
    /// Text of here-documents, as commands that only have it.
    found: Vec<ShellCommand>,
    /// Things that are understood and whose outcome is not: an allow rule does not cover them.
    pub doubts: Vec<&'static str>,
}

impl<'t> ShellParser<'t> {
    pub fn new(text: &'t str, depth: usize) -> Self {
        Self {
            cursor: ShellCursor::new(text),
            depth,
            pending: Vec::new(),
            found: Vec::new(),
            doubts: Vec::new(),
        }
    }

    /// Reads everything.
    pub fn all(&mut self) -> Result<ShellScript, ShellParseError> {
        let mut script = self.list(&[])?;
        script.commands.append(&mut self.found);
        match self.cursor.peek() {
            None if self.pending.is_empty() => Ok(script),
            None => self.cursor.refuse("a here-document does not end"),
            Some(_) => self
                .cursor
                .refuse("something stands where a command should"),
        }
    }

    /// Reads inside something: one level deeper.
    fn deeper<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, ShellParseError>,
    ) -> Result<T, ShellParseError> {
        if self.depth >= DEPTH {
            return self.cursor.refuse("it is nested too deeply");
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    /// Commands up to a reserved word of these, a `)`, a `;;` or the end.
    fn list(&mut self, ends: &[&str]) -> Result<ShellScript, ShellParseError> {
        let mut script = ShellScript::default();
        loop {
            self.skip_lines()?;
            if self.is_at_list_end(ends) {
                return Ok(script);
            }
            self.and_or(&mut script)?;
            self.cursor.skip_blanks();
            match self.cursor.peek() {
                Some('\n') => self.line_end()?,
                Some(';') if !self.is_at_case_end() => {
                    self.cursor.next();
                }
                Some('&') => {
                    self.cursor.next();
                }
                _ => return Ok(script),
            }
        }
    }

    fn is_at_list_end(&self, ends: &[&str]) -> bool {
        match self.cursor.peek() {
            None | Some(')') => true,
            Some(';') => self.is_at_case_end(),
            Some(_) => self.reserved().is_some_and(|word| ends.contains(&word)),
        }
    }

    fn is_at_case_end(&self) -> bool {
        [";;", ";&"].iter().any(|end| self.cursor.is_at(end))
    }

    /// Pipelines joined by `&&` and `||`.
    fn and_or(&mut self, script: &mut ShellScript) -> Result<(), ShellParseError> {
        loop {
            self.pipeline(script)?;
            self.cursor.skip_blanks();
            if !self.cursor.take("&&") && !self.cursor.take("||") {
                return Ok(());
            }
            self.skip_lines()?;
        }
    }

    /// Commands joined by `|` and `|&`, perhaps timed or turned round.
    fn pipeline(&mut self, script: &mut ShellScript) -> Result<(), ShellParseError> {
        self.cursor.skip_blanks();
        let mut is_timed = false;
        while self.take_word_if("!") || (!is_timed && self.take_word_if("time")) {
            is_timed = true;
            self.cursor.skip_blanks();
            if self.cursor.peek() == Some('-') {
                return self
                    .cursor
                    .refuse("`time` and `!` with options are read in more than one way");
            }
        }
        loop {
            let command = self.deeper(Self::command)?;
            script.commands.push(command);
            self.cursor.skip_blanks();
            if self.cursor.is_at("||") || !(self.cursor.take("|&") || self.cursor.take("|")) {
                return Ok(());
            }
            self.skip_lines()?;
        }
    }

    fn command(&mut self) -> Result<ShellCommand, ShellParseError> {
        if self.cursor.peek() == Some('(') {
            return self.parenthesis().map(ShellCommand::Compound);
        }
        if self.is_at_whole("!") {
            return self.cursor.refuse("`!` stands inside a pipeline");
        }
        match self.reserved() {
            Some(word) => self.compound(word).map(ShellCommand::Compound),
            None => match self.function_name() {
                Some(_) => self.function_body().map(ShellCommand::Compound),
                None => self.simple().map(ShellCommand::Simple),
            },
        }
    }

    fn simple(&mut self) -> Result<SimpleCommand, ShellParseError> {
        let mut simple = SimpleCommand::default();
        loop {
            self.cursor.skip_blanks();
            if let Some(redirect) = self.redirect()? {
                simple.redirects.push(redirect);
            } else if self.is_at_word() {
                match self.assignment_name().filter(|_| simple.words.is_empty()) {
                    Some(name) => {
                        let assignment = self.assignment(name)?;
                        simple.assignments.push(assignment);
                    }
                    None if simple.words.is_empty() && self.is_at_place() => {
                        return self.cursor.refuse("a place in an array is computed");
                    }
                    None => simple.words.push(self.word()?),
                }
            } else {
                break;
            }
        }
        let is_empty =
            simple.words.is_empty() && simple.assignments.is_empty() && simple.redirects.is_empty();
        if is_empty {
            return self.cursor.refuse("a command is missing");
        }
        Ok(simple)
    }

    /// The name of `NAME=` or `NAME+=`, if that is next. The cursor stays before it.
    fn assignment_name(&self) -> Option<String> {
        let mut ahead = self.cursor;
        let name = name_at(&mut ahead)?;
        (ahead.take("=") || ahead.take("+=")).then_some(name)
    }

    /// Whether `NAME[` is next: what follows may be calculated, over blanks and commands.
    fn is_at_place(&self) -> bool {
        let mut ahead = self.cursor;
        name_at(&mut ahead).is_some() && ahead.peek() == Some('[')
    }

    fn assignment(&mut self, name: String) -> Result<ShellAssignment, ShellParseError> {
        name_at(&mut self.cursor);
        self.cursor.take("+");
        self.cursor.take("=");
        if self.cursor.peek() != Some('(') {
            return Ok(ShellAssignment {
                name,
                values: vec![self.value()?],
            });
        }
        self.cursor.next();
        let mut values = Vec::new();
        loop {
            self.skip_lines()?;
            match self.cursor.peek() {
                Some(')') => break,
                Some('[') => return self.cursor.refuse("an array is set by computed places"),
                Some(_) if self.is_at_word() => values.push(self.word()?),
                _ => return self.cursor.refuse("an array does not end"),
            }
        }
        self.cursor.next();
        if self.is_at_word() {
            return self.cursor.refuse("something clings to an array");
        }
        Ok(ShellAssignment { name, values })
    }

    /// The word after `=`, which may be empty.
    fn value(&mut self) -> Result<ShellWord, ShellParseError> {
        if self.is_at_word() {
            self.word()
        } else {
            Ok(ShellWord::default())
        }
    }

    /// Skips blanks, comments and lines without anything.
    fn skip_lines(&mut self) -> Result<(), ShellParseError> {
        loop {
            self.cursor.skip_blanks();
            if self.cursor.peek() != Some('\n') {
                return Ok(());
            }
            self.line_end()?;
        }
    }

    /// The reserved word that is next, if one is and nothing clings to it.
    fn reserved(&self) -> Option<&'static str> {
        RESERVED.into_iter().find(|word| self.is_at_whole(word))
    }

    fn is_at_whole(&self, word: &str) -> bool {
        let mut ahead = self.cursor;
        let is_next = ahead.take(word);
        // `in<(…)` is one word.
        let goes_on = ahead.is_at("<(") || ahead.is_at(">(");
        is_next && !goes_on && ahead.peek().is_none_or(ends_word)
    }

    fn take_word_if(&mut self, word: &str) -> bool {
        self.is_at_whole(word) && self.cursor.take(word)
    }

    /// A compound command's redirections.
    fn with_redirects(
        &mut self,
        mut compound: CompoundCommand,
    ) -> Result<CompoundCommand, ShellParseError> {
        loop {
            self.cursor.skip_blanks();
            match self.redirect()? {
                Some(redirect) => compound.redirects.push(redirect),
                None => return Ok(compound),
            }
        }
    }
}

/// Takes a variable's name.
fn name_at(cursor: &mut ShellCursor<'_>) -> Option<String> {
    let is_first = |next: char| next.is_ascii_alphabetic() || next == '_';
    cursor.peek().filter(|next| is_first(*next))?;
    Some(cursor.take_while(|next| next.is_ascii_alphanumeric() || next == '_'))
}

//! Parses compound commands: subshells, groups, conditions, loops, cases, functions.

use super::{CompoundCommand, ShellParseError, ShellParser, ShellScript, name_at};

impl ShellParser<'_> {
    /// A compound command that begins with this reserved word.
    pub(super) fn compound(
        &mut self,
        word: &'static str,
    ) -> Result<CompoundCommand, ShellParseError> {
        self.cursor.take(word);
        match word {
            "{" => {
                let body = self.body(&["}"])?;
                self.with_redirects(CompoundCommand {
                    bodies: vec![body],
                    ..CompoundCommand::default()
                })
            }
            "if" => self.condition(),
            "while" | "until" => {
                let condition = self.body(&["do"])?;
                let body = self.body(&["done"])?;
                self.with_redirects(CompoundCommand {
                    bodies: vec![condition, body],
                    ..CompoundCommand::default()
                })
            }
            "for" | "select" => self.each(),
            "case" => self.case(),
            "[[" => self.conditional(),
            "function" => self
                .cursor
                .refuse("`function` is read in more than one way; write `name() { …; }`"),
            "coproc" => self.cursor.refuse("a coprocess is not understood"),
            _ => self
                .cursor
                .refuse("a reserved word stands where a command should"),
        }
    }

    /// A list of at least one command and the word that ends it.
    fn body(&mut self, ends: &[&str]) -> Result<ShellScript, ShellParseError> {
        let script = self.list(ends)?;
        if script.commands.is_empty() {
            return self.cursor.refuse("a command is missing");
        }
        if !ends.iter().any(|end| self.take_word_if(end)) {
            return self.cursor.refuse("a compound command does not end");
        }
        Ok(script)
    }

    /// `( … )`, or `(( … ))`.
    pub(super) fn parenthesis(&mut self) -> Result<CompoundCommand, ShellParseError> {
        self.cursor.next();
        if self.cursor.peek() == Some('(') {
            self.cursor.next();
            let word = self.arithmetic()?;
            return self.with_redirects(CompoundCommand {
                words: vec![word],
                ..CompoundCommand::default()
            });
        }
        let body = self.subshell()?;
        if body.commands.is_empty() {
            return self.cursor.refuse("a command is missing");
        }
        self.with_redirects(CompoundCommand {
            bodies: vec![body],
            ..CompoundCommand::default()
        })
    }

    /// A list and the `)` after it.
    pub(super) fn subshell(&mut self) -> Result<ShellScript, ShellParseError> {
        let script = self.list(&[])?;
        if !self.cursor.take(")") {
            return self.cursor.refuse("a parenthesis does not end");
        }
        Ok(script)
    }

    fn condition(&mut self) -> Result<CompoundCommand, ShellParseError> {
        let mut bodies = vec![self.body(&["then"])?];
        loop {
            let body = self.list(&["elif", "else", "fi"])?;
            if body.commands.is_empty() {
                return self.cursor.refuse("a command is missing");
            }
            bodies.push(body);
            if self.take_word_if("elif") {
                bodies.push(self.body(&["then"])?);
            } else if self.take_word_if("else") {
                bodies.push(self.body(&["fi"])?);
                break;
            } else if self.take_word_if("fi") {
                break;
            } else {
                return self.cursor.refuse("`if` does not end");
            }
        }
        self.with_redirects(CompoundCommand {
            bodies,
            ..CompoundCommand::default()
        })
    }

    /// `for NAME [in words]; do … done`.
    fn each(&mut self) -> Result<CompoundCommand, ShellParseError> {
        self.cursor.skip_blanks();
        let Some(variable) = name_at(&mut self.cursor) else {
            return self.cursor.refuse("a loop has no plain variable");
        };
        self.skip_lines()?;
        let mut words = Vec::new();
        if self.take_word_if("in") {
            loop {
                self.cursor.skip_blanks();
                if !self.is_at_word() {
                    break;
                }
                words.push(self.word()?);
            }
        }
        self.cursor.skip_blanks();
        if self.cursor.peek() == Some(';') && !self.is_at_case_end() {
            self.cursor.next();
        }
        self.skip_lines()?;
        if !self.take_word_if("do") {
            return self.cursor.refuse("a loop has no `do`");
        }
        let body = self.body(&["done"])?;
        let bodies = vec![body];
        self.with_redirects(CompoundCommand {
            variable: Some(variable),
            words,
            bodies,
            ..CompoundCommand::default()
        })
    }

    /// `case word in (pattern | pattern) … ;; esac`.
    fn case(&mut self) -> Result<CompoundCommand, ShellParseError> {
        let mut compound = CompoundCommand::default();
        self.cursor.skip_blanks();
        if !self.is_at_word() {
            return self.cursor.refuse("`case` has no word");
        }
        compound.words.push(self.word()?);
        self.skip_lines()?;
        if !self.take_word_if("in") {
            return self.cursor.refuse("`case` has no `in`");
        }
        loop {
            self.skip_lines()?;
            if self.take_word_if("esac") {
                return self.with_redirects(compound);
            }
            self.cursor.take("(");
            self.patterns(&mut compound)?;
            compound.bodies.push(self.list(&["esac"])?);
            let is_ended = [";;&", ";;", ";&"].iter().any(|end| self.cursor.take(end));
            if !is_ended && !self.is_at_whole("esac") {
                return self.cursor.refuse("`case` does not end");
            }
        }
    }

    fn patterns(&mut self, compound: &mut CompoundCommand) -> Result<(), ShellParseError> {
        loop {
            self.cursor.skip_blanks();
            if !self.is_at_word() {
                return self.cursor.refuse("`case` has an empty pattern");
            }
            compound.words.push(self.word()?);
            self.cursor.skip_blanks();
            if self.cursor.take(")") {
                return Ok(());
            }
            if self.cursor.is_at("||") || !self.cursor.take("|") {
                return self.cursor.refuse("a pattern of `case` does not end");
            }
        }
    }

    /// The name of `name()`, if that is next. The cursor stays before it.
    pub(super) fn function_name(&self) -> Option<String> {
        let mut ahead = self.cursor;
        let name =
            ahead.take_while(|next| next.is_ascii_alphanumeric() || matches!(next, '_' | '-'));
        ahead.skip_blanks();
        (!name.is_empty() && ahead.peek() == Some('(')).then_some(name)
    }

    /// `name() { … }`: what it would run counts as if it ran.
    pub(super) fn function_body(&mut self) -> Result<CompoundCommand, ShellParseError> {
        if name_at(&mut self.cursor).is_none() {
            return self.cursor.refuse("a function has no plain name");
        }
        self.cursor.skip_blanks();
        if !self.cursor.take("(") {
            return self.cursor.refuse("a function has no plain name");
        }
        self.cursor.skip_blanks();
        if !self.cursor.take(")") {
            return self.cursor.refuse("a parenthesis stands inside a command");
        }
        self.skip_lines()?;
        if !self.take_word_if("{") {
            return self
                .cursor
                .refuse("a function without braces is not understood");
        }
        let body = self.body(&["}"])?;
        self.with_redirects(CompoundCommand {
            bodies: vec![body],
            ..CompoundCommand::default()
        })
    }
}

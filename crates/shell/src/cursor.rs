//! Cursor over shell text: reads characters as the shell does, with backslash line continuations.

use super::ShellParseError;

/// A place in text. Cheap to copy, so looking ahead is trying on a copy.
#[derive(Clone, Copy)]
pub(super) struct ShellCursor<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> ShellCursor<'t> {
    pub fn new(text: &'t str) -> Self {
        Self { text, at: 0 }
    }

    /// How far it has come, in bytes.
    pub fn at(&self) -> usize {
        self.at
    }

    /// What is left, continued lines and all.
    pub fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// The text from an earlier place to here.
    pub fn since(&self, start: usize) -> &'t str {
        self.text.get(start..self.at).unwrap_or_default()
    }

    /// The next character, continued lines left out.
    pub fn peek(&self) -> Option<char> {
        let mut ahead = *self;
        ahead.next()
    }

    /// The character after the next one.
    pub fn peek_second(&self) -> Option<char> {
        let mut ahead = *self;
        ahead.next();
        ahead.next()
    }

    /// Takes the next character, continued lines left out.
    pub fn next(&mut self) -> Option<char> {
        while self.rest().starts_with("\\\n") {
            self.at += 2;
        }
        self.next_raw()
    }

    /// Takes the next character as it stands.
    pub fn next_raw(&mut self) -> Option<char> {
        let next = self.rest().chars().next()?;
        self.at += next.len_utf8();
        Some(next)
    }

    /// Takes these characters if they are next.
    pub fn take(&mut self, wanted: &str) -> bool {
        let mut ahead = *self;
        let is_next = wanted.chars().all(|wanted| ahead.next() == Some(wanted));
        if is_next {
            *self = ahead;
        }
        is_next
    }

    /// Whether these characters are next.
    pub fn is_at(&self, wanted: &str) -> bool {
        let mut ahead = *self;
        ahead.take(wanted)
    }

    /// Takes characters while they are wanted.
    pub fn take_while(&mut self, is_wanted: impl Fn(char) -> bool) -> String {
        let mut taken = String::new();
        while let Some(next) = self.peek().filter(|next| is_wanted(*next)) {
            self.next();
            taken.push(next);
        }
        taken
    }

    /// Takes text as it stands up to a character, and the character.
    pub fn take_raw_until(&mut self, end: char) -> Option<&'t str> {
        let length = self.rest().find(end)?;
        let taken = self.rest().get(..length)?;
        self.at += length + end.len_utf8();
        Some(taken)
    }

    /// Takes all that is left, as it stands.
    pub fn take_rest(&mut self) -> &'t str {
        let rest = self.rest();
        self.at = self.text.len();
        rest
    }

    /// Skips blanks and a comment, but no line end.
    pub fn skip_blanks(&mut self) {
        while matches!(self.peek(), Some(' ' | '\t')) {
            self.next();
        }
        if self.peek() == Some('#') {
            let length = self.rest().find('\n').unwrap_or(self.rest().len());
            self.at += length;
        }
    }

    /// Parse error at this position.
    pub fn refuse<T>(&self, why: &'static str) -> Result<T, ShellParseError> {
        Err(ShellParseError { why, at: self.at })
    }
}

/// Characters that end a word.
pub(super) fn ends_word(next: char) -> bool {
    matches!(
        next,
        ' ' | '\t' | '\n' | ';' | '&' | '|' | '<' | '>' | '(' | ')'
    )
}

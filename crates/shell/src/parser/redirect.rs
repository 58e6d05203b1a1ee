//! Parses redirections: direction and target.

use super::{ShellParseError, ShellParser, heredoc::PendingHeredoc};
use crate::{
    cursor::ends_word,
    syntax_tree::{RedirectKind, ShellRedirect, ShellWord},
};

/// Operators, longer ones first.
const OPERATORS: [(&str, RedirectKind); 11] = [
    ("&>>", RedirectKind::Write),
    ("&>", RedirectKind::Write),
    ("<<<", RedirectKind::Text),
    ("<<", RedirectKind::Text),
    ("<>", RedirectKind::Write),
    ("<&", RedirectKind::Duplicate),
    (">>", RedirectKind::Write),
    (">|", RedirectKind::Write),
    (">&", RedirectKind::Duplicate),
    ("<", RedirectKind::Read),
    (">", RedirectKind::Write),
];

impl ShellParser<'_> {
    /// A redirection, if one is next.
    pub(super) fn redirect(&mut self) -> Result<Option<ShellRedirect>, ShellParseError> {
        if self.is_at_variable() {
            return self.cursor.refuse("a redirection assigns a variable");
        }
        let mut ahead = self.cursor;
        ahead.take_while(|next| next.is_ascii_digit());
        if !matches!(ahead.peek(), Some('<' | '>')) && !self.cursor.is_at("&>") {
            return Ok(None);
        }
        if ahead.is_at("<(") || ahead.is_at(">(") {
            return Ok(None);
        }
        if !self.cursor.is_at("&>") {
            self.cursor = ahead;
        }
        let found = OPERATORS
            .into_iter()
            .find(|(sign, _)| self.cursor.take(sign));
        match found {
            Some(("<<", _)) => self.here_document().map(Some),
            Some((_, way)) => self.target(way).map(Some),
            None => Ok(None),
        }
    }

    /// Whether `{NAME}>` or the like is next, which sets the variable to the number of a stream.
    fn is_at_variable(&self) -> bool {
        let mut ahead = self.cursor;
        let is_begun = ahead.take("{");
        let name = ahead.take_while(|next| next != '}' && !ends_word(next));
        is_begun
            && !name.is_empty()
            && ahead.take("}")
            && matches!(ahead.peek(), Some('<' | '>' | '&'))
    }

    fn target(&mut self, way: RedirectKind) -> Result<ShellRedirect, ShellParseError> {
        self.cursor.skip_blanks();
        if !self.is_at_word() {
            return self.cursor.refuse("a redirection goes nowhere");
        }
        let target = self.word()?;
        let is_number = target
            .literal()
            .is_some_and(|text| text.chars().all(|c| c.is_ascii_digit()));
        if is_number && matches!(self.cursor.peek(), Some('<' | '>')) {
            return self.cursor.refuse("a redirection goes nowhere");
        }
        let is_stream = |text: &str| {
            let number = text.strip_suffix('-').unwrap_or(text);
            number.chars().all(|c| c.is_ascii_digit())
        };
        // `>& file` writes a file; `>& 2` does not; `>& $x` may.
        let way = match (way, target.literal()) {
            (RedirectKind::Duplicate, Some(text)) if !text.is_empty() && is_stream(&text) => {
                RedirectKind::Duplicate
            }
            (RedirectKind::Duplicate, _) => RedirectKind::Write,
            (way, _) => way,
        };
        Ok(ShellRedirect { way, target })
    }

    /// `<< END`: its text begins after this line.
    fn here_document(&mut self) -> Result<ShellRedirect, ShellParseError> {
        let keeps_tabs = !self.cursor.take("-");
        self.cursor.skip_blanks();
        let is_plain =
            |next: char| next.is_ascii_alphanumeric() || matches!(next, '_' | '.' | '-' | '%');
        let quote = self
            .cursor
            .peek()
            .filter(|next| matches!(next, '\'' | '"' | '\\'));
        if quote.is_some() {
            self.cursor.next();
        }
        let end = self.cursor.take_while(is_plain);
        if let Some(quote @ ('\'' | '"')) = quote
            && self.cursor.next() != Some(quote)
        {
            return self
                .cursor
                .refuse("the end of a here-document is not a plain word");
        }
        let is_whole = self.cursor.peek().is_none_or(ends_word);
        if end.is_empty() || !is_whole || self.cursor.peek() == Some('(') {
            return self
                .cursor
                .refuse("the end of a here-document is not a plain word");
        }
        self.pending.push(PendingHeredoc {
            end,
            keeps_tabs,
            is_quoted: quote.is_some(),
        });
        Ok(ShellRedirect {
            way: RedirectKind::Text,
            target: ShellWord::default(),
        })
    }
}

//! Parses here-documents: text that begins after the line that asks for it.

use super::{ShellCommand, ShellParseError, ShellParser, ShellWord, SimpleCommand, words::Quoting};
use crate::syntax_tree::{RedirectKind, ShellRedirect};

/// A here-document whose text is still to come.
pub(super) struct PendingHeredoc {
    pub end: String,
    pub keeps_tabs: bool,
    pub is_quoted: bool,
}

impl ShellParser<'_> {
    /// Takes a line end, and the text of the here-documents that wait for it.
    ///
    /// Commands in that text count as commands of the whole.
    pub(super) fn line_end(&mut self) -> Result<(), ShellParseError> {
        self.cursor.next();
        for pending in std::mem::take(&mut self.pending) {
            let target = self.here_text(&pending)?;
            let redirect = ShellRedirect {
                way: RedirectKind::Text,
                target,
            };
            self.found.push(ShellCommand::Simple(SimpleCommand {
                redirects: vec![redirect],
                ..SimpleCommand::default()
            }));
        }
        Ok(())
    }

    fn here_text(&mut self, pending: &PendingHeredoc) -> Result<ShellWord, ShellParseError> {
        let mut body = String::new();
        loop {
            let line = match self.cursor.take_raw_until('\n') {
                Some(line) => line,
                None => self.cursor.take_rest(),
            };
            let bare = if pending.keeps_tabs {
                line
            } else {
                line.trim_start_matches('\t')
            };
            if bare == pending.end {
                break;
            }
            if self.cursor.rest().is_empty() {
                return self.cursor.refuse("a here-document does not end");
            }
            if !pending.is_quoted && line.ends_with('\\') {
                return self
                    .cursor
                    .refuse("a line of a here-document goes on in the next one");
            }
            body.push_str(bare);
            body.push('\n');
        }
        if pending.is_quoted {
            return Ok(ShellWord::text(body));
        }
        self.expanded(&body)
    }

    /// Text in which only values and substitutions mean something.
    fn expanded(&mut self, body: &str) -> Result<ShellWord, ShellParseError> {
        let mut inner = ShellParser::new(body, self.depth);
        let mut word = ShellWord::default();
        while let Some(next) = inner.cursor.peek() {
            match next {
                '$' | '`' => inner.deeper(|parser| parser.expansion(&mut word, Quoting::Double))?,
                '\\' => {
                    inner.cursor.next_raw();
                    inner
                        .cursor
                        .next_raw()
                        .into_iter()
                        .for_each(|next| word.push(next));
                }
                _ => {
                    inner.cursor.next();
                    word.push(next);
                }
            }
        }
        self.doubts.append(&mut inner.doubts);
        self.found.append(&mut inner.found);
        Ok(word)
    }
}

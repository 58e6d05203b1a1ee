//! Syntax tree of a shell command line: commands, words and the pieces of words.
//!
//! How commands are joined (`;`, `&&`, `|`, `&`) is not kept: any of them may run, so all of them count.

/// Commands in the order in which they are written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShellScript {
    /// All of them, whatever joins them.
    pub commands: Vec<ShellCommand>,
}

/// One command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShellCommand {
    /// A program or builtin with its words.
    Simple(SimpleCommand),
    /// A subshell, group, loop, condition or function.
    Compound(CompoundCommand),
}

/// `NAME=value … words … > file`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SimpleCommand {
    /// What stands before the first word.
    pub assignments: Vec<ShellAssignment>,
    /// The program and its arguments.
    pub words: Vec<ShellWord>,
    /// Where its input and output go.
    pub redirects: Vec<ShellRedirect>,
}

/// Commands that are held together by syntax.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CompoundCommand {
    /// The variable that a loop sets.
    pub variable: Option<String>,
    /// Words that are expanded: what a loop goes through, what a case compares.
    pub words: Vec<ShellWord>,
    /// Conditions and bodies.
    pub bodies: Vec<ShellScript>,
    /// Where the input and output of all of it go.
    pub redirects: Vec<ShellRedirect>,
}

/// `NAME=value`, or `NAME=(values)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShellAssignment {
    /// The variable.
    pub name: String,
    /// What it is set to; several for an array.
    pub values: Vec<ShellWord>,
}

/// Where input comes from or output goes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShellRedirect {
    /// Which way.
    pub way: RedirectKind,
    /// The file, the text, or the number of another stream.
    pub target: ShellWord,
}

/// Direction of a redirection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RedirectKind {
    /// `<`: a file is read.
    Read,
    /// `>`, `>>`, `>|`, `&>`, `<>`: a file is written.
    Write,
    /// `>&2`, `<&-`: a stream becomes another one.
    Duplicate,
    /// `<<` and `<<<`: the text itself.
    Text,
}

/// One word, before it is expanded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShellWord {
    /// What it is made of, in order.
    pub pieces: Vec<WordPiece>,
}

/// A part of a word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WordPiece {
    /// Text that stays as it is; quotes are gone.
    Text(String),
    /// `*`, `?`, `[`, `{` or `~`, not quoted: may become other text, or several words.
    Pattern(char),
    /// A value that is known only when it runs; the commands are those inside it.
    Value {
        /// Whether it stays within one word.
        is_quoted: bool,
        /// Commands that run to compute it.
        scripts: Vec<ShellScript>,
    },
}

impl ShellWord {
    /// Its text, if that is known before it runs.
    pub fn literal(&self) -> Option<String> {
        let mut text = String::new();
        for piece in &self.pieces {
            match piece {
                WordPiece::Text(more) => text.push_str(more),
                WordPiece::Pattern(_) | WordPiece::Value { .. } => return None,
            }
        }
        Some(text)
    }

    /// Its text, with a `*` for each part that is known only when it runs.
    pub fn shape(&self) -> String {
        let mut shape = String::new();
        for piece in &self.pieces {
            match piece {
                WordPiece::Text(text) => shape.push_str(text),
                // What follows a brace may come in any order, or not at all; what follows a bracket may be
                // a part of it.
                WordPiece::Pattern('{' | '[') => return shape + "*",
                WordPiece::Pattern(_) | WordPiece::Value { .. } => shape.push('*'),
            }
        }
        shape
    }

    /// Whether it may turn out to be an option, or several words of which one is.
    pub fn may_be_option(&self) -> bool {
        match self
            .pieces
            .iter()
            .find(|piece| !matches!(piece, WordPiece::Text(text) if text.is_empty()))
        {
            None => false,
            Some(WordPiece::Text(text)) => text.starts_with('-') || self.may_split(),
            Some(WordPiece::Pattern('~')) => self.may_split(),
            Some(_) => true,
        }
    }

    /// Whether it may become several words of which each may be anything.
    pub fn may_split(&self) -> bool {
        let splits = |piece: &WordPiece| {
            matches!(
                piece,
                WordPiece::Value {
                    is_quoted: false,
                    ..
                } | WordPiece::Pattern('{')
            )
        };
        self.pieces.iter().any(splits)
    }

    /// The commands that run to compute it.
    pub fn scripts(&self) -> impl Iterator<Item = &ShellScript> {
        self.pieces.iter().flat_map(|piece| match piece {
            WordPiece::Value { scripts, .. } => scripts.as_slice(),
            WordPiece::Text(_) | WordPiece::Pattern(_) => &[],
        })
    }

    /// A word of plain text.
    pub(super) fn text(text: impl Into<String>) -> Self {
        Self {
            pieces: vec![WordPiece::Text(text.into())],
        }
    }

    pub(super) fn push(&mut self, next: char) {
        match self.pieces.last_mut() {
            Some(WordPiece::Text(text)) => text.push(next),
            _ => self.pieces.push(WordPiece::Text(next.to_string())),
        }
    }

    pub(super) fn push_str(&mut self, more: &str) {
        match self.pieces.last_mut() {
            Some(WordPiece::Text(text)) => text.push_str(more),
            _ => self.pieces.push(WordPiece::Text(more.to_owned())),
        }
    }
}

//! The tree of a shell command line: commands, words and what words are made of.
//!
//! How commands are joined (`;`, `&&`, `|`, `&`) is not kept: any of them may run, so all of them count.

/// Commands in the order in which they are written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Script {
    /// All of them, whatever joins them.
    pub commands: Vec<Command>,
}

/// One command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// A program or builtin with its words.
    Simple(Simple),
    /// A subshell, group, loop, condition or function.
    Compound(Compound),
}

/// `NAME=value … words … > file`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Simple {
    /// What stands before the first word.
    pub assignments: Vec<Assignment>,
    /// The program and its arguments.
    pub words: Vec<Word>,
    /// Where its input and output go.
    pub redirects: Vec<Redirect>,
}

/// Commands that are held together by syntax.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Compound {
    /// The variable that a loop sets.
    pub variable: Option<String>,
    /// Words that are expanded: what a loop goes through, what a case compares.
    pub words: Vec<Word>,
    /// Conditions and bodies.
    pub bodies: Vec<Script>,
    /// Where the input and output of all of it go.
    pub redirects: Vec<Redirect>,
}

/// `NAME=value`, or `NAME=(values)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    /// The variable.
    pub name: String,
    /// What it is set to; several for an array.
    pub values: Vec<Word>,
}

/// Where input comes from or output goes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redirect {
    /// Which way.
    pub way: Way,
    /// The file, the text, or the number of another stream.
    pub target: Word,
}

/// Which way a redirection goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
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
pub struct Word {
    /// What it is made of, in order.
    pub pieces: Vec<Piece>,
}

/// A part of a word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Text that stays as it is; quotes are gone.
    Text(String),
    /// `*`, `?`, `[`, `{` or `~`, not quoted: may become other text, or several words.
    Pattern(char),
    /// A value that is known only when it runs; the commands are those inside it.
    Value {
        /// Whether it stays within one word.
        is_quoted: bool,
        /// Commands that run to compute it.
        scripts: Vec<Script>,
    },
}

impl Word {
    /// Its text, if that is known before it runs.
    pub fn literal(&self) -> Option<String> {
        let mut text = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Text(more) => text.push_str(more),
                Piece::Pattern(_) | Piece::Value { .. } => return None,
            }
        }
        Some(text)
    }

    /// Its text, with a `*` for each part that is known only when it runs.
    pub fn shape(&self) -> String {
        let mut shape = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => shape.push_str(text),
                // What follows a brace may come in any order, or not at all; what follows a bracket may be
                // a part of it.
                Piece::Pattern('{' | '[') => return shape + "*",
                Piece::Pattern(_) | Piece::Value { .. } => shape.push('*'),
            }
        }
        shape
    }

    /// Whether it may turn out to be an option, or several words of which one is.
    pub fn may_be_option(&self) -> bool {
        match self.pieces.iter().find(|piece| !matches!(piece, Piece::Text(text) if text.is_empty())) {
            None => false,
            Some(Piece::Text(text)) => text.starts_with('-') || self.may_split(),
            Some(Piece::Pattern('~')) => self.may_split(),
            Some(_) => true,
        }
    }

    /// Whether it may become several words of which each may be anything.
    pub fn may_split(&self) -> bool {
        let splits =
            |piece: &Piece| matches!(piece, Piece::Value { is_quoted: false, .. } | Piece::Pattern('{'));
        self.pieces.iter().any(splits)
    }

    /// The commands that run to compute it.
    pub fn scripts(&self) -> impl Iterator<Item = &Script> {
        self.pieces.iter().flat_map(|piece| match piece {
            Piece::Value { scripts, .. } => scripts.as_slice(),
            Piece::Text(_) | Piece::Pattern(_) => &[],
        })
    }

    /// A word of plain text.
    pub(super) fn text(text: impl Into<String>) -> Self {
        Self { pieces: vec![Piece::Text(text.into())] }
    }

    pub(super) fn push(&mut self, next: char) {
        match self.pieces.last_mut() {
            Some(Piece::Text(text)) => text.push(next),
            _ => self.pieces.push(Piece::Text(next.to_string())),
        }
    }

    pub(super) fn push_str(&mut self, more: &str) {
        match self.pieces.last_mut() {
            Some(Piece::Text(text)) => text.push_str(more),
            _ => self.pieces.push(Piece::Text(more.to_owned())),
        }
    }
}

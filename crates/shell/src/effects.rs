//! Effects of a command line: every simple command in it, and the files that its redirections open.

use super::{
    ParsedScript, ShellParseError, innermost, parse,
    syntax_tree::{
        CompoundCommand, RedirectKind, ShellAssignment, ShellCommand, ShellRedirect, ShellScript,
        ShellWord, SimpleCommand,
    },
    variables,
};

/// Effects of a line if all of it runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShellEffects {
    /// Every simple command, those in substitutions, loops and functions included.
    pub calls: Vec<ShellCall>,
    /// Files that redirections open.
    pub files: Vec<ShellFileAccess>,
    /// Texts that commands are given as input: here-documents and here-strings.
    pub texts: Vec<ShellWord>,
    /// Parts whose outcome the text does not determine.
    pub doubts: Vec<&'static str>,
}

/// One simple command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShellCall {
    /// Variables that are set for it.
    pub assignments: Vec<ShellAssignment>,
    /// The program and its arguments.
    pub words: Vec<ShellWord>,
}

/// A file that the shell itself opens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShellFileAccess {
    /// Reading or writing.
    pub way: RedirectKind,
    /// The file.
    pub target: ShellWord,
}

impl ShellEffects {
    /// The effects of a line, if it can be parsed.
    pub fn of(text: &str) -> Result<Self, ShellParseError> {
        let ParsedScript { script, doubts } = parse(text)?;
        let mut deeds = Self {
            doubts,
            ..Self::default()
        };
        deeds.script(&script);
        Ok(deeds)
    }

    /// Whether it changes the directory in which what follows runs, behind wrappers too.
    pub fn moves(&self) -> bool {
        self.calls.iter().any(|call| {
            matches!(
                innermost(call).name().as_deref(),
                Some("cd" | "pushd" | "popd")
            )
        })
    }

    /// Whether it runs git, behind wrappers too.
    pub fn runs_git(&self) -> bool {
        self.calls
            .iter()
            .any(|call| innermost(call).name().as_deref() == Some("git"))
    }

    fn script(&mut self, script: &ShellScript) {
        for command in &script.commands {
            match command {
                ShellCommand::Simple(simple) => self.simple(simple),
                ShellCommand::Compound(compound) => self.compound(compound),
            }
        }
    }

    fn simple(&mut self, simple: &SimpleCommand) {
        let SimpleCommand {
            assignments,
            words,
            redirects,
        } = simple;
        for value in assignments.iter().flat_map(|assignment| &assignment.values) {
            self.word(value);
        }
        words.iter().for_each(|word| self.word(word));
        self.redirects(redirects);
        if !words.is_empty() || !assignments.is_empty() {
            self.calls.push(ShellCall {
                assignments: assignments.clone(),
                words: words.clone(),
            });
        }
    }

    fn compound(&mut self, compound: &CompoundCommand) {
        if compound
            .variable
            .as_deref()
            .is_some_and(|name| !variables::is_private(name))
        {
            self.doubts
                .push("a loop sets a variable that programs heed");
        }
        compound.words.iter().for_each(|word| self.word(word));
        compound.bodies.iter().for_each(|body| self.script(body));
        self.redirects(&compound.redirects);
    }

    fn redirects(&mut self, redirects: &[ShellRedirect]) {
        for ShellRedirect { way, target } in redirects {
            self.word(target);
            if matches!(way, RedirectKind::Read | RedirectKind::Write) {
                self.files.push(ShellFileAccess {
                    way: *way,
                    target: target.clone(),
                });
            }
            if *way == RedirectKind::Text && !target.pieces.is_empty() {
                self.texts.push(target.clone());
            }
        }
    }

    fn word(&mut self, word: &ShellWord) {
        word.scripts().for_each(|script| self.script(script));
    }
}

impl ShellCall {
    /// The program as it is written, if that is known.
    pub fn program(&self) -> Option<String> {
        self.words.first().and_then(ShellWord::literal)
    }

    /// The words after the program.
    pub fn arguments(&self) -> &[ShellWord] {
        self.words.get(1..).unwrap_or_default()
    }

    /// The program's last name: `rm` for `/bin/rm`.
    pub fn name(&self) -> Option<String> {
        let program = self.program()?;
        Some(program.rsplit('/').next().unwrap_or_default().to_owned())
    }

    /// It in words for people, with `*` for what is known only when it runs.
    pub fn shown(&self) -> String {
        let words: Vec<String> = self.words.iter().map(ShellWord::shape).collect();
        words.join(" ")
    }
}

impl ShellFileAccess {
    /// Whether it opens no file that matters: nothing, one's own output, or something to read.
    pub fn is_harmless(&self) -> bool {
        let target = self.target.literal();
        match self.way {
            RedirectKind::Read => !self.may_connect(),
            RedirectKind::Write => matches!(
                target.as_deref(),
                Some("/dev/null" | "/dev/stdout" | "/dev/stderr")
            ),
            RedirectKind::Duplicate | RedirectKind::Text => true,
        }
    }

    /// Bash opens `/dev/tcp/host/port` by itself, and what is known only when it runs may be that.
    fn may_connect(&self) -> bool {
        let shape = self.target.shape();
        shape.contains("/tcp")
            || shape.contains("/udp")
            || (shape.contains('*') && shape.starts_with(['*', '/']))
    }
}

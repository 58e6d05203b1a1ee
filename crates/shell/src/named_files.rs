//! Lists the files that a shell line names: programs, arguments, inputs.
//!
//! Names are returned as written; the caller resolves which of them exist, and where. Files that the line only writes
//! are not included. A line that cannot be parsed is split at whitespace and punctuation.

use super::{
    RedirectKind, ShellCall, ShellCommand, ShellEffects, ShellScript, ShellWord, WordPiece,
    innermost, parse,
};

/// How deep lines are looked for in the words of lines, and wrappers in wrappers.
const DEEPEST: usize = 3;
/// A longer word names no file.
const LONGEST: usize = 4_096;
/// Programs whose arguments are places to write to.
const WRITING: [&str; 4] = ["mkdir", "rm", "tee", "touch"];
/// Programs to which it matters that something is there, not what it holds, or that only say their words.
const PROBING: [&str; 8] = ["[", "echo", "exit", "git", "ls", "printf", "stat", "test"];
/// Programs that change where relative names start.
const MOVING: [&str; 2] = ["cd", "pushd"];
/// Programs that run what they are given: files, or what comes to their input.
const INTERPRETERS: &str = "
    . ash awk bash bun busybox dash deno eval expect fish gawk gmake just ksh lua luajit make mawk mksh
    node nodejs osascript perl php powershell pwsh pypy python rscript ruby run-parts sh source tclsh
    ts-node tsx xonsh zsh";
/// Programs that run another one, whose name follows their options.
const WRAPPERS: &str = "
    bunx doas env exec flock nice npx parallel pipx pnpx run setsid sudo uv uvx xargs";

/// The files that a line names, and the directories where its relative names may start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NamedFiles {
    /// What it names.
    pub files: Vec<NamedFile>,
    /// Directories it goes to, and values it gives to variables.
    pub starts: Vec<NamedFile>,
}

/// A file or directory, as a line names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedFile {
    /// Where it starts.
    pub start: PathStart,
    /// What is known of it.
    pub text: String,
    /// Whether more follows that is known only when it runs: then it is the directory that is known.
    pub is_open: bool,
    /// What for.
    pub role: NamedFileRole,
}

/// Where a name starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathStart {
    /// As it is written.
    Written,
    /// At a value that is known only when it runs, such as a variable.
    Value,
    /// In the home directory.
    Home,
}

/// Role of a named file in a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamedFileRole {
    /// It runs it, so it matters even if it is not there yet.
    Run,
    /// It gives it to something that runs what it is given, or may pass it on to that.
    Given,
    /// It gives it to programs that do work of their own with it, such as showing or checking it.
    Looked,
}

impl NamedFiles {
    /// Those of a line for a shell.
    pub fn of(line: &str) -> Self {
        let mut names = Self::default();
        names.line(line, 0);
        names
    }

    /// Those of a program and its arguments, which no shell reads.
    pub fn of_program(words: &[String]) -> Self {
        let word = |text: &String| ShellWord {
            pieces: vec![WordPiece::Text(text.clone())],
        };
        let mut names = Self::default();
        let call = ShellCall {
            assignments: Vec::new(),
            words: words.iter().map(word).collect(),
        };
        let role = if is_interpreter(&inner(&call, 0)) {
            NamedFileRole::Given
        } else {
            NamedFileRole::Looked
        };
        names.call(&call, role, 0);
        names
    }

    fn line(&mut self, text: &str, depth: usize) {
        let (Ok(deeds), Ok(parsed)) = (ShellEffects::of(text), parse(text)) else {
            return self.pieces(text);
        };
        // What is only looked at may be handed to something that runs it.
        let is_run = deeds
            .calls
            .iter()
            .any(|call| is_interpreter(&inner(call, 0)));
        let role = if is_run {
            NamedFileRole::Given
        } else {
            NamedFileRole::Looked
        };
        self.loops(&parsed.script, role);
        deeds
            .calls
            .iter()
            .for_each(|call| self.call(call, role, depth));
        let read = deeds
            .files
            .iter()
            .filter(|access| access.way == RedirectKind::Read);
        read.for_each(|access| self.word(&access.target, role));
    }

    /// What loops go through.
    fn loops(&mut self, script: &ShellScript, role: NamedFileRole) {
        for command in &script.commands {
            let ShellCommand::Compound(compound) = command else {
                continue;
            };
            compound.words.iter().for_each(|word| self.word(word, role));
            compound
                .bodies
                .iter()
                .for_each(|body| self.loops(body, role));
        }
    }

    fn call(&mut self, call: &ShellCall, role: NamedFileRole, depth: usize) {
        for value in call.assignments.iter().flat_map(|set| &set.values) {
            self.starts.extend(named(value, role));
            self.word(value, role);
        }
        let call = inner(call, 0);
        let name = call.name().unwrap_or_default();
        if MOVING.contains(&name.as_str()) {
            self.starts
                .extend(call.arguments().iter().filter_map(|word| named(word, role)));
            return;
        }
        if WRITING.contains(&name.as_str()) || PROBING.contains(&name.as_str()) {
            return;
        }
        if let Some(program) = call.words.first() {
            // A name without a slash is looked up elsewhere.
            self.files.extend(
                named(program, NamedFileRole::Run).filter(|program| program.text.contains('/')),
            );
        }
        let mut is_next_run = is_interpreter(&call);
        for word in call.arguments() {
            let is_run = is_next_run && is_operand(word);
            is_next_run &= !is_run;
            self.word(word, if is_run { NamedFileRole::Run } else { role });
            let inner = word
                .literal()
                .filter(|text| text.contains(char::is_whitespace) && depth < DEEPEST);
            inner.iter().for_each(|line| self.line(line, depth + 1));
        }
    }

    fn word(&mut self, word: &ShellWord, role: NamedFileRole) {
        let Some(named) = named(word, role) else {
            return;
        };
        // `--option=file`, `NAME=file`.
        if let Some((_, value)) = named
            .text
            .split_once('=')
            .filter(|_| named.start == PathStart::Written)
        {
            let role = if role == NamedFileRole::Run {
                NamedFileRole::Given
            } else {
                role
            };
            self.files.push(NamedFile {
                text: value.to_owned(),
                role,
                ..named.clone()
            });
        }
        if named.text.starts_with('-') && named.start == PathStart::Written {
            return;
        }
        let is_like_a_file =
            named.text.contains(['/', '.']) && !named.text.contains(char::is_whitespace);
        let role = if role == NamedFileRole::Run && !is_like_a_file {
            NamedFileRole::Given
        } else {
            role
        };
        self.files.push(NamedFile { role, ..named });
    }

    /// Possible file names in a line that cannot be parsed.
    fn pieces(&mut self, line: &str) {
        let is_between = |c: char| c.is_whitespace() || "\"'`;|&()<>{}=,".contains(c);
        for piece in line
            .split(is_between)
            .filter(|piece| !piece.is_empty() && piece.len() <= LONGEST)
        {
            let (start, text) = match piece.strip_prefix('$') {
                Some(rest) => (
                    PathStart::Value,
                    rest.find('/')
                        .and_then(|at| rest.get(at..))
                        .unwrap_or_default(),
                ),
                None => (PathStart::Written, piece),
            };
            let role = NamedFileRole::Given;
            self.files.push(NamedFile {
                start,
                text: text.to_owned(),
                is_open: false,
                role,
            });
        }
    }
}

/// Whether a call runs what it reads from its input or from files: an interpreter, or a wrapper that is not
/// told which command to run.
pub fn runs_what_it_reads(call: &ShellCall) -> bool {
    let inner = inner(call, 0);
    is_interpreter(&inner)
        || inner
            .name()
            .is_some_and(|name| name == "ssh" || is_in(WRAPPERS, &name))
}

/// Whether it runs what it is given.
fn is_interpreter(call: &ShellCall) -> bool {
    let name = call.name().unwrap_or_default().to_lowercase();
    // `python3.12` is a python.
    is_in(
        INTERPRETERS,
        name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.'),
    ) || is_in(INTERPRETERS, &name)
}

fn is_in(list: &str, name: &str) -> bool {
    list.split_whitespace().any(|known| known == name)
}

/// What is left when everything that only passes a command on is taken away.
pub(super) fn inner(call: &ShellCall, depth: usize) -> ShellCall {
    let call = innermost(call);
    let is_wrapper = call.name().is_some_and(|name| is_in(WRAPPERS, &name));
    match call
        .arguments()
        .iter()
        .position(is_operand)
        .filter(|_| is_wrapper && depth < DEEPEST)
    {
        Some(first) => {
            let words = call.arguments().get(first..).unwrap_or_default().to_vec();
            inner(&ShellCall { words, ..call }, depth + 1)
        }
        None => call,
    }
}

/// Whether a word is neither an option nor a variable that is set.
fn is_operand(word: &ShellWord) -> bool {
    let text = word.shape();
    !text.starts_with('-') && !text.split('/').next().unwrap_or_default().contains('=')
}

/// What is known about the file a word names; none if it names none.
fn named(word: &ShellWord, role: NamedFileRole) -> Option<NamedFile> {
    let (mut start, mut text, mut is_open) = (PathStart::Written, String::new(), false);
    for piece in &word.pieces {
        let is_first = text.is_empty() && start == PathStart::Written;
        match piece {
            WordPiece::Text(more) => text.push_str(more),
            WordPiece::Value { .. } if is_first => start = PathStart::Value,
            WordPiece::Pattern('~') if is_first => start = PathStart::Home,
            WordPiece::Pattern(_) | WordPiece::Value { .. } => {
                is_open = true;
                break;
            }
        }
    }
    if is_open {
        text.truncate(text.rfind('/')?);
    }
    // Text after a variable without a slash is a part of an unknown name.
    let is_known = start == PathStart::Written || text.starts_with('/');
    (is_known && !text.is_empty() && text.len() <= LONGEST).then_some(NamedFile {
        start,
        text,
        is_open,
        role,
    })
}

#[cfg(test)]
mod tests;

//! Matches a shell command line against rules: strictly to allow it, broadly to deny it.
//!
//! A rule whose last word is `*` stands for the words before it; any other is one whole command.
//! `\*` at the end of a rule is a star that was meant literally.

mod deny_match;
mod inline_scripts;
mod path_access;

use std::path::Path;

use rooftree_shell::{
    self as shell, CommandClass, RedirectKind, ShellCall, ShellEffects, ShellFileAccess,
    ShellParseError, ShellWord,
};

/// A line, read once.
pub(super) struct CommandLine<'a> {
    text: &'a str,
    deeds: Result<ShellEffects, ShellParseError>,
}

/// Why a line is not allowed, and by which part of it.
pub(super) struct UncoveredPart {
    /// The simple command or file that no rule covers; none if it is the line itself.
    pub part: Option<String>,
    /// In words.
    pub why: &'static str,
}

/// The reason why a line is allowed.
pub(super) enum RuleCoverage<R> {
    /// This rule and perhaps others.
    Rule(R),
    /// It only looks, and the files it writes are allowed.
    Files,
}

impl<'a> CommandLine<'a> {
    pub fn read(text: &'a str) -> Self {
        Self {
            text,
            deeds: ShellEffects::of(text),
        }
    }

    /// Whether a rule spells this whole line, or all lines.
    pub fn is_spelled_by(&self, spec: &str) -> bool {
        match prefix(spec) {
            Some(start) => start.is_empty(),
            None => self.text.trim() == unescaped(spec),
        }
    }

    /// Which of the rules allow every part of it.
    ///
    /// Invariant: a line is allowed by rules only if each of its simple commands is, no file is
    /// written that may not be, and nothing in it is unknown before it runs.
    pub fn cover<R: Copy>(
        &self,
        rules: &[(R, &str)],
        may_write: impl Fn(&str) -> bool,
    ) -> Result<RuleCoverage<R>, UncoveredPart> {
        if let Some((rule, _)) = rules.iter().find(|(_, spec)| self.is_spelled_by(spec)) {
            return Ok(RuleCoverage::Rule(*rule));
        }
        let of_line = |why| UncoveredPart { part: None, why };
        let deeds = self
            .deeds
            .as_ref()
            .map_err(|refusal| of_line(refusal.why))?;
        if let Some(why) = deeds.doubts.first() {
            return Err(of_line(why));
        }
        let (mut used, moves) = (None, deeds.moves());
        for call in &deeds.calls {
            let rule = covered(call, rules, moves).map_err(|why| UncoveredPart {
                part: Some(call.shown()),
                why,
            })?;
            used = used.or(rule);
        }
        for file in deeds.files.iter().filter(|file| !file.is_harmless()) {
            check_file(file, moves, &may_write)?;
        }
        match used {
            Some(rule) => Ok(RuleCoverage::Rule(rule)),
            None if deeds
                .files
                .iter()
                .any(|file| file.way == RedirectKind::Write) =>
            {
                Ok(RuleCoverage::Files)
            }
            None => Err(of_line("no rule covers it")),
        }
    }

    /// Whether rules of these subjects name each command of it that does more than look, and it writes no
    /// file. What else can be said against it is for others to say.
    pub fn is_named_by(&self, specs: &[&str]) -> bool {
        let is_named = |call: &ShellCall| {
            let inner = shell::innermost(call);
            shell::is_read_only_call(call) || specs.iter().any(|spec| names(spec, call, &inner, 1))
        };
        let is_each_named = |deeds: &ShellEffects| {
            deeds.doubts.is_empty()
                && deeds.calls.iter().all(is_named)
                && deeds.files.iter().all(ShellFileAccess::is_harmless)
        };
        specs.iter().any(|spec| self.is_spelled_by(spec))
            || self.deeds.as_ref().is_ok_and(is_each_named)
    }

    /// The part of it that a rule may mean, if there is one.
    pub fn part_denied_by(&self, spec: &str) -> Option<String> {
        if self.is_spelled_by(spec) {
            return Some(self.text.trim().to_owned());
        }
        let wanted = wanted_words(spec);
        deny_match::find(self.text, &self.deeds, &wanted)
    }

    /// The part of it by which it may reach a path that a rule's glob names.
    pub fn part_reaching(
        &self,
        touched: path_access::FileRuleKind,
        glob: &str,
        cwd: &Path,
    ) -> Option<String> {
        path_access::find(
            self.text,
            &self.deeds,
            &path_access::DeniedPathQuery {
                kind: touched,
                glob,
                cwd,
            },
        )
    }
}

pub(super) use path_access::FileRuleKind as Touched;

/// The rule that covers a call; none if it needs none.
fn covered<R: Copy>(
    call: &ShellCall,
    rules: &[(R, &str)],
    moves: bool,
) -> Result<Option<R>, &'static str> {
    let inner = shell::innermost(call);
    let named = |least| {
        rules
            .iter()
            .find(|(_, spec)| names(spec, call, &inner, least))
            .map(|(rule, _)| *rule)
    };
    let name = inner.name().unwrap_or_default();
    match shell::classify(&inner) {
        CommandClass::Runs(why) => Err(why),
        // Elsewhere the same words may do something else, so going there needs a rule too.
        CommandClass::Looks
            if moves && matches!(name.as_str(), "cd" | "pushd" | "popd" | "git") =>
        {
            named(1).map(Some).ok_or("no rule covers it")
        }
        CommandClass::Looks => Ok(named(1)),
        CommandClass::Acts { least } => named(least).map(Some).ok_or("no rule covers it"),
    }
}

/// Whether a rule's words are those of a call, or those it begins with.
fn names(spec: &str, call: &ShellCall, inner: &ShellCall, least: usize) -> bool {
    let begins = |call: &ShellCall, wanted: &[String]| {
        wanted.len() <= call.words.len()
            && wanted
                .iter()
                .zip(&call.words)
                .all(|(wanted, word)| word.literal().as_ref() == Some(wanted))
    };
    match prefix(spec) {
        Some(start) => {
            let wanted = words_of(&start);
            wanted.len() >= least && begins(inner, &wanted)
        }
        None => {
            let wanted = words_of(&unescaped(spec));
            let is_whole =
                |call: &ShellCall| call.words.len() == wanted.len() && begins(call, &wanted);
            is_whole(call) || is_whole(inner)
        }
    }
}

fn check_file(
    file: &ShellFileAccess,
    moves: bool,
    may_write: &impl Fn(&str) -> bool,
) -> Result<(), UncoveredPart> {
    let uncovered = |why| {
        Err(UncoveredPart {
            part: Some(format!("> {}", file.target.shape())),
            why,
        })
    };
    match (file.way, file.target.literal()) {
        (RedirectKind::Write, None) => uncovered("which file it writes is known only when it runs"),
        (RedirectKind::Write, Some(path)) if moves && !path.starts_with('/') => {
            uncovered("where it writes depends on the directory it goes to")
        }
        (RedirectKind::Write, Some(path)) if may_write(&path) => Ok(()),
        (RedirectKind::Write, Some(_)) => uncovered("no rule lets it write that file"),
        _ => uncovered("what it opens may be a connection"),
    }
}

/// The rule's subject that means exactly this command.
pub(super) fn literal(command: &str) -> String {
    let command = command.trim();
    command
        .strip_suffix('*')
        .map_or_else(|| command.to_owned(), |start| format!(r"{start}\*"))
}

fn unescaped(spec: &str) -> String {
    spec.strip_suffix(r"\*")
        .map_or_else(|| spec.to_owned(), |start| format!("{start}*"))
}

/// What stands before ` *` or `:*` at the end of a rule; none if the rule is one whole command.
fn prefix(spec: &str) -> Option<String> {
    let start = spec.strip_suffix('*')?;
    match start.strip_suffix(':') {
        Some(start) if !start.is_empty() => Some(start.trim().to_owned()),
        _ if start.is_empty() || start.ends_with([' ', '\t']) => Some(start.trim().to_owned()),
        _ => None,
    }
}

/// The words of a rule, its quotes taken away where it is a plain command.
fn words_of(text: &str) -> Vec<String> {
    let read = ShellEffects::of(text)
        .ok()
        .filter(|deeds| deeds.files.is_empty() && deeds.doubts.is_empty());
    let plain = match read.as_ref().map(|deeds| deeds.calls.as_slice()) {
        Some([call]) if call.assignments.is_empty() => {
            call.words.iter().map(ShellWord::literal).collect()
        }
        _ => None,
    };
    plain.unwrap_or_else(|| text.split_whitespace().map(str::to_owned).collect())
}

/// The words a deny rule is about; a star in them stands for anything.
fn wanted_words(spec: &str) -> Vec<String> {
    match prefix(spec) {
        Some(start) => words_of(&start),
        None => words_of(&unescaped(spec)),
    }
}

//! One rule, `Tool` or `Tool(subject)`: how it is written and what it matches.

use std::{fmt, path::Path, str::FromStr};

use globset::Glob;
use rooftree_protocol::{ErrorCode, Problem};

use super::{Judged, command, path};
use crate::{
    Toolset,
    place::{LastLink, Pinned},
    toolset::Found,
};

/// Tools whose subject is a path; a rule's subject is then a glob over paths.
pub(crate) const PATH_TOOLS: [&str; 10] = [
    "Read",
    "Write",
    "Edit",
    "ApplyDiff",
    "Delete",
    "NotebookEdit",
    "List",
    "Glob",
    "Grep",
    "SemanticSearch",
];

/// Tools whose subject is a shell command.
pub(crate) const COMMAND_TOOLS: [&str; 1] = ["Bash"];

/// `Tool` or `Tool(subject)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Canonical tool name, or a glob over names such as `*`. Compared without case.
    pub tool: String,
    /// What the call's subject must match: a glob over paths, or a command, or the words
    /// a command begins with followed by `*`.
    pub subject: Option<String>,
}

/// Which way an error of matching must fall.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Care {
    /// Match only what was surely meant.
    Allowing,
    /// Match all that may have been meant.
    Denying,
}

impl Rule {
    /// Reads a rule as people write it.
    pub fn parse(text: &str) -> Result<Self, Problem> {
        let text = text.trim();
        let (tool, subject) = match text.split_once('(') {
            None => (text, None),
            Some((tool, rest)) => {
                let subject =
                    rest.strip_suffix(')').ok_or_else(|| malformed(text, "it has no `)` at its end"))?;
                (tool.trim_end(), Some(subject.trim()))
            }
        };
        let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '*' | '.' | ':');
        if tool.is_empty() || !tool.chars().all(is_plain) {
            return Err(malformed(text, "it does not begin with the name of a tool"));
        }
        if subject == Some("") {
            return Err(malformed(text, "there is nothing between its parentheses"));
        }
        Ok(Self { tool: tool.to_owned(), subject: subject.map(str::to_owned) })
    }

    /// The same rule under the tool's canonical name. A tool nobody knows is an error: a deny
    /// rule that matches nothing would be a promise nobody keeps.
    pub fn resolved(self, tools: &Toolset) -> Result<Self, Problem> {
        if self.tool.contains('*') {
            return Ok(self);
        }
        match tools.find(&self.tool) {
            Found::Tool(tool) => Ok(Self { tool: tool.spec().name.clone(), ..self }),
            Found::Unknown => {
                Err(Problem::new(ErrorCode::ToolNotFound, format!("`{self}` names no tool that exists"))
                    .fix(format!("tools are {}", tools.names().join(", "))))
            }
        }
    }

    /// The rule that matches this call and as little else as possible.
    pub(super) fn exactly(judged: &Judged<'_>) -> Self {
        let subject = judged.subject.map(|subject| match family(judged.tool) {
            Family::Command => command::literal(subject),
            Family::Path => path::literal(subject, judged.cwd),
            Family::Word => globset::escape(subject),
        });
        Self { tool: judged.tool.to_owned(), subject: subject.filter(|subject| !subject.is_empty()) }
    }

    /// Whether it surely means this call.
    pub(super) fn allows(&self, judged: &Judged<'_>) -> bool {
        self.matches(judged, Care::Allowing)
    }

    /// Whether it may mean this call.
    pub(super) fn denies(&self, judged: &Judged<'_>) -> bool {
        self.matches(judged, Care::Denying)
    }

    fn matches(&self, judged: &Judged<'_>, care: Care) -> bool {
        if !is_glob_match(&self.tool.to_lowercase(), &judged.tool.to_lowercase()) {
            return false;
        }
        let (Some(rule), Some(subject)) = (&self.subject, judged.subject) else {
            return self.subject.is_none();
        };
        match (family(judged.tool), care) {
            (Family::Command, Care::Allowing) => command::is_allowed_by(subject, rule),
            (Family::Command, Care::Denying) => command::is_denied_by(subject, rule),
            (Family::Path, Care::Allowing) => path::is_matched_by(subject, rule, judged.cwd),
            (Family::Path, Care::Denying) => path::is_at_or_below(subject, rule, judged.cwd),
            (Family::Word, _) => is_glob_match(rule, subject),
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.subject {
            None => f.write_str(&self.tool),
            Some(subject) => write!(f, "{}({subject})", self.tool),
        }
    }
}

impl FromStr for Rule {
    type Err = Problem;

    fn from_str(text: &str) -> Result<Self, Problem> {
        Self::parse(text)
    }
}

/// Whether a tool's path leads out of a directory. Commands and other subjects lead nowhere.
pub(super) fn is_outside(tool: &str, subject: &str, directory: &Path) -> bool {
    matches!(family(tool), Family::Path) && !path::is_below(subject, directory)
}

/// Where a tool's path leads. Commands and other subjects lead nowhere.
pub(super) fn pinned(judged: &Judged<'_>) -> Option<Pinned> {
    let subject = judged.subject.filter(|_| matches!(family(judged.tool), Family::Path))?;
    // Deleting a link takes the link away, not what it leads to.
    let last = if judged.tool == "Delete" { LastLink::Kept } else { LastLink::Followed };
    Some(Pinned::of(Path::new(subject), judged.cwd, last))
}

/// How the subject of a tool is compared.
enum Family {
    Command,
    Path,
    Word,
}

fn family(tool: &str) -> Family {
    let is_in = |names: &[&str]| names.iter().any(|name| name.eq_ignore_ascii_case(tool));
    if is_in(&COMMAND_TOOLS) {
        Family::Command
    } else if is_in(&PATH_TOOLS) {
        Family::Path
    } else {
        Family::Word
    }
}

pub(super) fn is_glob_match(glob: &str, text: &str) -> bool {
    glob == text || Glob::new(glob).is_ok_and(|glob| glob.compile_matcher().is_match(text))
}

fn malformed(text: &str, why: &str) -> Problem {
    Problem::new(ErrorCode::InvalidArguments, format!("`{text}` is not a rule: {why}"))
        .fix("write Tool or Tool(subject), for example 'Bash(git log *)' or 'Write(src/**)'")
}

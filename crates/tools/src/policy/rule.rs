//! Parses a permission rule, `Tool` or `Tool(subject)`, and tells which tools it is about.
//!
//! Normal form: what other programs write as `read:/path`, `write:/path`, `net:host` or `Agent(name)` becomes
//! `Read(/path)`, `Write(/path)`, `WebFetch(domain:host)` and `Task(name)` when it is read, and is printed so; daycare's
//! `@web`, `@read:/path` and `@write:/path` become `Web*`, `Read(/path{,/**})` and `Write(/path{,/**})`.

use std::{fmt, str::FromStr};

use rooftree_protocol::{ErrorCode, Problem};

use crate::{
    Toolset,
    declarations::declared_for_rule,
    glob_cache::{self, WildcardMeaning},
    tool_info::FileUse,
    toolset::ToolLookup,
};

/// `Tool` or `Tool(subject)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PermissionRule {
    /// Canonical tool name, or a glob over names such as `*`. Compared without case.
    pub tool: String,
    /// What the call's subject must match: a glob over paths, a command or the words a command
    /// begins with followed by `*`, a domain, or a glob over names.
    pub subject: Option<String>,
}

/// Strictness of matching: which way an error must fall.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum MatchStrictness {
    /// Match only what was surely meant.
    Allowing,
    /// Match all that may have been meant.
    Denying,
}

impl PermissionRule {
    /// Reads a rule as people write it.
    pub fn parse(text: &str) -> Result<Self, Problem> {
        let text = text.trim();
        if let Some(wanted) = text.strip_prefix('@') {
            return daycare_grant(wanted).ok_or_else(|| {
                malformed(
                    text,
                    "Permission must be @web, @read:<path>, or @write:<path>",
                )
            });
        }
        if let Some(grant) = grant(text) {
            return Ok(grant);
        }
        let (tool, subject) = match text.split_once('(') {
            None => (text, None),
            Some((tool, rest)) => {
                let subject = rest
                    .strip_suffix(')')
                    .ok_or_else(|| malformed(text, "it has no `)` at its end"))?;
                (tool.trim_end(), Some(subject.trim()))
            }
        };
        // Letters that only look like those of a tool's name would make a rule that never matches.
        let is_plain =
            |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '*' | '.' | ':' | '/');
        if tool.is_empty() || !tool.chars().all(is_plain) {
            return Err(malformed(text, "it does not begin with the name of a tool"));
        }
        if subject == Some("") {
            return Err(malformed(text, "there is nothing between its parentheses"));
        }
        let tool = if tool.eq_ignore_ascii_case("Agent") {
            "Task"
        } else {
            tool
        };
        Ok(Self {
            tool: tool.to_owned(),
            subject: subject.map(str::to_owned),
        })
    }

    /// The same rule under the tool's canonical name. An unknown tool is an error: a deny rule that
    /// matches nothing would give no protection.
    pub fn resolved(self, tools: &Toolset) -> Result<Self, Problem> {
        if self.tool.contains('*') || self.tool.starts_with("mcp__") {
            return Ok(self);
        }
        match tools.find(&self.tool) {
            ToolLookup::Tool(tool) => Ok(Self {
                tool: tool.spec().name.clone(),
                ..self
            }),
            ToolLookup::Unknown => Err(Problem::new(
                ErrorCode::ToolNotFound,
                format!("`{self}` names no tool that exists"),
            )
            .fix(tools.suggestion(&self.tool))),
        }
    }

    /// Whether it is about this tool.
    pub(super) fn concerns(&self, tool: &str, care: MatchStrictness) -> bool {
        let is_server = || {
            let server = self
                .tool
                .strip_prefix("mcp__")
                .filter(|rest| !rest.contains("__"));
            server.is_some() && starts_with(tool, &format!("{}__", self.tool))
        };
        is_glob_match(&self.tool.to_ascii_lowercase(), &tool.to_ascii_lowercase())
            || is_server()
            || (self.is_about_writing() && is_editing(tool, care))
            || (self.is_about_reading() && file_use(tool) == FileUse::Reads)
    }

    /// Whether it covers everything that changes files: a rule for `Edit`, or for `Write` with a path.
    pub(super) fn is_about_writing(&self) -> bool {
        self.tool.eq_ignore_ascii_case("Edit")
            || (self.tool.eq_ignore_ascii_case("Write") && self.subject.is_some())
    }

    /// Whether it covers everything that reads files: a rule for `Read`.
    pub(super) fn is_about_reading(&self) -> bool {
        self.tool.eq_ignore_ascii_case("Read")
    }
}

impl fmt::Display for PermissionRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.subject {
            None => f.write_str(&self.tool),
            Some(subject) => write!(f, "{}({subject})", self.tool),
        }
    }
}

impl FromStr for PermissionRule {
    type Err = Problem;

    fn from_str(text: &str) -> Result<Self, Problem> {
        Self::parse(text)
    }
}

/// `read:/path`, `write:/path`, `net:host`.
fn grant(text: &str) -> Option<PermissionRule> {
    let (kind, rest) = text.split_once(':')?;
    let (tool, subject) = match kind {
        "read" | "write" if !rest.starts_with(['/', '~', '.']) => return None,
        "read" => ("Read", rest.to_owned()),
        "write" => ("Write", rest.to_owned()),
        "net" if !rest.is_empty() => ("WebFetch", format!("domain:{rest}")),
        _ => return None,
    };
    Some(PermissionRule {
        tool: tool.to_owned(),
        subject: Some(subject),
    })
}

/// `@web`, `@read:PATH`, `@write:PATH` without the `@`. The paths mean a directory with all that is below it, or a
/// file.
fn daycare_grant(wanted: &str) -> Option<PermissionRule> {
    if wanted == "web" {
        return Some(PermissionRule {
            tool: "Web*".to_owned(),
            subject: None,
        });
    }
    let (kind, path) = wanted.split_once(':')?;
    let tool = match kind {
        "read" => "Read",
        "write" => "Write",
        _ => return None,
    };
    let path = path.trim();
    // What is relative would mean another place in each agent's directory.
    let is_plain =
        path.starts_with('/') && !path.contains(['*', '?', '[', ']', '{', '}', '\\', '(', ')']);
    let path = path.trim_end_matches('/');
    is_plain.then(|| PermissionRule {
        tool: tool.to_owned(),
        subject: Some(format!(
            "{path}{}",
            if path.is_empty() { "/**" } else { "{,/**}" }
        )),
    })
}

/// Deleting is changing when that is denied, and more than changing when it is allowed.
fn is_editing(tool: &str, care: MatchStrictness) -> bool {
    match file_use(tool) {
        FileUse::Changes => true,
        FileUse::Deletes => care == MatchStrictness::Denying,
        FileUse::None | FileUse::Reads => false,
    }
}

fn file_use(tool: &str) -> FileUse {
    declared_for_rule(tool).file_use
}

fn starts_with(tool: &str, start: &str) -> bool {
    tool.get(..start.len())
        .is_some_and(|begin| begin.eq_ignore_ascii_case(start))
}

/// Most rules are plain names: compiling each would cost a call more than all else.
pub(super) fn is_glob_match(glob: &str, text: &str) -> bool {
    let is_plain = !glob.contains(['*', '?', '[', ']', '{', '}', '\\']);
    glob == text || (!is_plain && glob_cache::is_match(glob, WildcardMeaning::Anything, text))
}

fn malformed(text: &str, why: &str) -> Problem {
    Problem::new(
        ErrorCode::InvalidArguments,
        format!("`{text}` is not a rule: {why}"),
    )
    .fix("write Tool or Tool(subject), for example 'Bash(git log *)' or 'Write(src/**)'")
}

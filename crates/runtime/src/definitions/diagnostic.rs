//! Diagnostics of definition files: the error, its location, and a fix.

use std::{
    fmt,
    path::{Path, PathBuf},
};

use serde::Serialize;

use super::syntax_tree::SourceSpan;

/// Severity of a diagnostic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The definition is used, but not quite as it is written.
    Warning,
    /// The definition is not used.
    Error,
}

/// One complaint about one place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// The number people may quote: `E0312`, `W0107`.
    pub code: &'static str,
    /// What is wrong.
    pub message: String,
    /// The file, or what stands for one.
    pub path: PathBuf,
    /// Where in it, if it is about one place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<SourceSpan>,
    /// The line it is about.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub line: String,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
}

impl Diagnostic {
    /// The same in one line: place, what is wrong, what to do.
    pub fn one_line(&self) -> String {
        let line = self.at.map(|at| format!(":{}", at.line));
        let help = self.help.as_ref().map(|help| format!("; {help}"));
        format!(
            "{}{}: {} ({}){}",
            self.path.display(),
            line.unwrap_or_default(),
            self.message,
            self.code,
            help.unwrap_or_default()
        )
    }
}

/// Complaints about one file, as they are found.
#[derive(Debug)]
pub(super) struct FileDiagnostics<'a> {
    pub(super) path: &'a Path,
    pub(super) text: &'a str,
    pub(super) list: Vec<Diagnostic>,
}

impl<'a> FileDiagnostics<'a> {
    pub(super) fn about(path: &'a Path, text: &'a str) -> Self {
        Self {
            path,
            text,
            list: Vec::new(),
        }
    }

    /// Something that keeps the definition from being used, and what to do about it.
    pub(super) fn error(
        &mut self,
        code: &'static str,
        at: Option<SourceSpan>,
        what: String,
        help: &str,
    ) {
        self.add(Severity::Error, code, at, (what, help));
    }

    /// Adds a warning, and how to fix it.
    pub(super) fn warning(
        &mut self,
        code: &'static str,
        at: Option<SourceSpan>,
        what: String,
        help: &str,
    ) {
        self.add(Severity::Warning, code, at, (what, help));
    }

    /// Turns warnings into errors for a strict definition.
    pub(super) fn escalate(&mut self) {
        self.list
            .iter_mut()
            .for_each(|diagnostic| diagnostic.severity = Severity::Error);
    }

    pub(super) fn has_errors(&self) -> bool {
        self.list
            .iter()
            .any(|diagnostic| diagnostic.severity == Severity::Error)
    }

    fn add(
        &mut self,
        severity: Severity,
        code: &'static str,
        at: Option<SourceSpan>,
        words: (String, &str),
    ) {
        let line = at
            .and_then(|at| self.text.lines().nth(at.line.saturating_sub(1)))
            .unwrap_or_default();
        self.list.push(Diagnostic {
            severity,
            code,
            message: words.0,
            path: self.path.to_owned(),
            at,
            line: line.chars().take(200).collect(),
            help: Some(words.1.to_owned()).filter(|help| !help.is_empty()),
        });
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = if self.severity == Severity::Error {
            "error"
        } else {
            "warning"
        };
        writeln!(f, "{word}[{}]: {}", self.code, self.message)?;
        let help = self.help.as_deref().unwrap_or_default();
        let Some(at) = self.at else {
            write!(f, "  ┌─ {}", self.path.display())?;
            return if help.is_empty() {
                Ok(())
            } else {
                write!(f, "\n  = {help}")
            };
        };
        let number = at.line.to_string();
        let margin = " ".repeat(number.len());
        writeln!(
            f,
            "{margin} ┌─ {}:{}:{}",
            self.path.display(),
            at.line,
            at.column
        )?;
        writeln!(f, "{number} │ {}", self.line)?;
        let before = " ".repeat(at.column.saturating_sub(1));
        let carets = "^".repeat(at.length.clamp(1, 80));
        write!(
            f,
            "{}",
            format!("{margin} │ {before}{carets} {help}").trim_end()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_complaint_points_at_its_place() {
        let text = "---\nmodel: x\ntools: [Read, Grepp]\n";
        let mut complaints = FileDiagnostics::about(Path::new("a.md"), text);
        let at = SourceSpan {
            line: 3,
            column: 15,
            length: 5,
        };
        complaints.error(
            "E0312",
            Some(at),
            "unknown tool `Grepp`".into(),
            "did you mean `Grep`?",
        );
        let wanted = "error[E0312]: unknown tool `Grepp`\n  ┌─ a.md:3:15\n3 │ tools: [Read, Grepp]\n  │               ^^^^^ did you mean `Grep`?";
        assert_eq!(complaints.list[0].to_string(), wanted);
        complaints.warning("W0110", None, "no description".into(), "write one");
        assert_eq!(
            complaints.list[1].to_string(),
            "warning[W0110]: no description\n  ┌─ a.md\n  = write one"
        );
    }
}

//! Permission rules as far as they apply to programs: `Tool` or `Tool(subject)`.

use std::fmt;

/// One rule.
#[derive(Clone, Copy, Debug)]
pub(super) struct ProgramRule<'a> {
    tool: &'a str,
    subject: Option<&'a str>,
}

/// Parses the rules. Invalid ones are skipped here; their author gets the error elsewhere.
pub(super) fn rules(written: &[String]) -> Vec<ProgramRule<'_>> {
    written
        .iter()
        .filter_map(|text| ProgramRule::read(text))
        .collect()
}

impl<'a> ProgramRule<'a> {
    fn read(text: &'a str) -> Option<Self> {
        let text = text.trim();
        Some(match text.split_once('(') {
            None => Self {
                tool: text,
                subject: None,
            },
            Some((tool, rest)) => Self {
                tool: tool.trim_end(),
                subject: Some(rest.strip_suffix(')')?.trim()),
            },
        })
    }

    /// Whether it applies to all calls of a tool.
    pub(super) fn is_whole(&self) -> bool {
        self.subject.is_none()
    }

    /// Whether it applies to shell commands.
    pub(super) fn is_command(&self) -> bool {
        self.tool.eq_ignore_ascii_case("Bash") && self.subject.is_some()
    }

    /// Whether it applies to this tool.
    pub(super) fn is_about(&self, tool: &str) -> bool {
        is_match(&self.tool.to_lowercase(), &tool.to_lowercase())
    }

    /// The same rule in `claude`'s syntax; none if that has no such rule.
    pub(super) fn for_claude(&self) -> Option<String> {
        // Its lists are split at commas, and a parenthesis ends a rule.
        let subject = self
            .subject
            .filter(|subject| !subject.contains([',', '(', ')']))?;
        let is_one_of = |tools: &[&str]| {
            tools
                .iter()
                .any(|tool| self.tool.eq_ignore_ascii_case(tool))
        };
        // Two slashes are the root; one would be the directory of its settings.
        let path = if subject.starts_with('/') {
            format!("/{subject}")
        } else {
            subject.to_owned()
        };
        if self.is_command() {
            let beginning = subject
                .strip_suffix('*')
                .map(|start| start.trim_end_matches([' ', ':']));
            return Some(beginning.map_or_else(
                || format!("Bash({subject})"),
                |start| format!("Bash({start}:*)"),
            ));
        }
        if is_one_of(&["Read", "Grep", "Glob", "List"]) {
            return Some(format!("Read({path})"));
        }
        is_one_of(&["Write", "Edit", "NotebookEdit", "ApplyDiff", "Delete"])
            .then(|| format!("Edit({path})"))
    }
}

impl fmt::Display for ProgramRule<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.subject {
            None => f.write_str(self.tool),
            Some(subject) => write!(f, "{}({subject})", self.tool),
        }
    }
}

/// Whether a name matches a pattern in which `*` stands for anything.
fn is_match(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((front, rest)) => name.strip_prefix(front).is_some_and(|tail| {
            (0..=tail.len())
                .filter_map(|at| tail.get(at..))
                .any(|tail| is_match(rest, tail))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_fits_names() {
        for (pattern, name, fits) in [
            ("bash", "bash", true),
            ("b*", "bash", true),
            ("*", "", true),
            ("*h", "bash", true),
            ("b*x", "bash", false),
        ] {
            assert_eq!(is_match(pattern, name), fits, "{pattern} {name}");
        }
    }

    #[test]
    fn a_rule_is_written_as_claude_writes_it() {
        for (ours, theirs) in [
            ("Bash(npm test)", Some("Bash(npm test)")),
            ("Bash(git log *)", Some("Bash(git log:*)")),
            ("Bash(git log:*)", Some("Bash(git log:*)")),
            ("Write(src/**)", Some("Edit(src/**)")),
            ("Grep(/etc/**)", Some("Read(//etc/**)")),
            ("WebFetch(a.test)", None),
            ("Bash(a, b)", None),
            ("Bash", None),
        ] {
            assert_eq!(
                ProgramRule::read(ours).unwrap().for_claude().as_deref(),
                theirs,
                "{ours}"
            );
        }
    }
}

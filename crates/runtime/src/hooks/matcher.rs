//! Matcher of a hook: everything, a list of names, or a pattern.

use std::fmt;

use regex::Regex;

/// A parsed matcher.
#[derive(Clone, Debug, Default)]
pub enum HookMatcher {
    /// Nothing: it is for all.
    #[default]
    All,
    /// One of these names, exactly.
    Names(Vec<String>),
    /// Names in which this is found.
    Pattern(Regex),
}

impl HookMatcher {
    /// Reads a matcher. Letters, digits and `_ - , |` are a list of names; anything else is a
    /// pattern that may match anywhere in a name.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text.is_empty() || text == "*" {
            return Ok(Self::All);
        }
        let is_plain =
            |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | ' ' | ',' | '|');
        if text.chars().all(is_plain) {
            let names = text
                .split(['|', ','])
                .map(str::trim)
                .filter(|name| !name.is_empty());
            return Ok(Self::Names(names.map(str::to_owned).collect()));
        }
        Regex::new(text).map(Self::Pattern).map_err(|error| {
            let last = error
                .to_string()
                .lines()
                .last()
                .unwrap_or_default()
                .trim()
                .to_owned();
            format!("the matcher `{text}` is no regular expression: {last}")
        })
    }

    /// Whether it means something that has these names. A point without names is always meant.
    pub fn is_for(&self, names: &[String]) -> bool {
        match self {
            Self::All => true,
            _ if names.is_empty() => true,
            // Tools answer to their names without case, so a guard must see them without case too.
            Self::Names(wanted) => wanted
                .iter()
                .any(|wanted| names.iter().any(|name| name.eq_ignore_ascii_case(wanted))),
            Self::Pattern(pattern) => names.iter().any(|name| pattern.is_match(name)),
        }
    }
}

impl fmt::Display for HookMatcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("*"),
            Self::Names(names) => f.write_str(&names.join("|")),
            Self::Pattern(pattern) => f.write_str(pattern.as_str()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_of_matchers_and_names() {
        let task: &[&str] = &["Task", "Agent"];
        let table: [(&str, &[&str], bool); 12] = [
            ("", &["Bash"], true),
            ("*", &["Bash"], true),
            ("Bash", &["Bash"], true),
            ("bash", &["Bash"], true),
            ("Bash", &["BashOutput"], false),
            ("Edit|Write", &["Write"], true),
            ("Edit, Write", &["Write"], true),
            ("Agent", task, true),
            ("mcp__.*__write.*", &["mcp__files__write_file"], true),
            ("^Note", &["NotebookEdit"], true),
            ("Note.*", &["Bash"], false),
            ("startup", &[], true),
        ];
        for (text, names, wanted) in table {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            assert_eq!(
                HookMatcher::parse(text).unwrap().is_for(&names),
                wanted,
                "{text} {names:?}"
            );
        }
        assert!(
            HookMatcher::parse("(")
                .unwrap_err()
                .contains("no regular expression")
        );
    }
}

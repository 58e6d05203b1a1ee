//! Findings of a run: the file locations that its answer cites, parsed from the text.

use std::{fmt, path::PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A place that an answer names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AnswerFinding {
    /// The file, as the answer writes it.
    pub path: PathBuf,
    /// The line, counted from one.
    pub line: u32,
    /// What the answer says about it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
}

impl AnswerFinding {
    /// Findings of one answer at most.
    pub const MOST: usize = 50;
    /// Characters of what is said about a place.
    const LONGEST: usize = 200;

    /// The places that a text names as `path:line`, each once and in its order.
    pub fn all_in(text: &str) -> Vec<Self> {
        let mut findings: Vec<Self> = Vec::new();
        for line in text.lines() {
            for word in line.split_whitespace() {
                let Some((path, number)) = location(word) else {
                    continue;
                };
                let is_known = |known: &Self| known.path == path && known.line == number;
                if findings.len() < Self::MOST && !findings.iter().any(is_known) {
                    findings.push(Self {
                        path,
                        line: number,
                        text: about(line, word),
                    });
                }
            }
        }
        findings
    }
}

impl fmt::Display for AnswerFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.path.display(), self.line)?;
        if self.text.is_empty() {
            Ok(())
        } else {
            write!(f, " {}", self.text)
        }
    }
}

/// Punctuation around a location in prose and Markdown.
const AROUND: &[char] = &[
    '`', '*', '"', '\'', '(', ')', '[', ']', '{', '}', '<', '>', ',', ';', '.', '!', '?', ':', '|',
];

/// The path and line of `src/lib.rs:42`, also of `src/lib.rs:42:7` and `src/lib.rs:42-50`. A web address is none.
fn location(word: &str) -> Option<(PathBuf, u32)> {
    let word = word.trim_start_matches(|sign| AROUND.contains(&sign) && sign != '.');
    let word = word.trim_end_matches(AROUND);
    if word.contains("://") {
        return None;
    }
    let (path, rest) = word.split_once(':')?;
    let digits = rest.split(|sign: char| !sign.is_ascii_digit()).next()?;
    let rest = rest.get(digits.len()..)?;
    let is_end = rest.is_empty() || rest.starts_with([':', '-', '–']);
    let is_file = path.contains(['.', '/']) && path.chars().any(char::is_alphabetic);
    let line = digits.parse().ok().filter(|line| *line > 0)?;
    (is_end && is_file).then(|| (PathBuf::from(path), line))
}

/// The rest of the line, without list signs and the location itself.
fn about(line: &str, word: &str) -> String {
    let (before, after) = line.split_once(word).unwrap_or((line, ""));
    let sign = |sign: char| {
        sign.is_whitespace() || matches!(sign, '-' | '–' | '—' | ':' | '*' | '|' | '•')
    };
    let before = before
        .trim_matches(|letter: char| sign(letter) || letter.is_ascii_digit() || letter == '.');
    let after = after.trim_matches(sign);
    let said = match (before, after) {
        ("", said) | (said, "") => said.to_owned(),
        (before, after) => format!("{before} {after}"),
    };
    said.chars().take(AnswerFinding::LONGEST).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn em5_an_answer_that_names_places_has_findings() {
        let answer = "The retry is in two places.\n\n- `src/ask.rs:42` — doubles the pause\n2. **src/retry.rs:7:3**: the limit\n\
                      See also src/ask.rs:42, ./a.py:1-9 and (docs/x.md:3).";
        let found: Vec<String> = AnswerFinding::all_in(answer)
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(
            found,
            [
                "src/ask.rs:42 doubles the pause",
                "src/retry.rs:7 the limit",
                "./a.py:1 See also src/ask.rs:42, and (docs/x.md:3).",
                "docs/x.md:3 See also src/ask.rs:42, ./a.py:1-9 and",
            ]
        );
    }

    #[test]
    fn em5_times_addresses_and_versions_are_no_findings() {
        for text in [
            "at 10:30",
            "http://host.test:80/x",
            "note: 3 files",
            "a.rs:0",
            "x.rs:12ab",
            "",
            "std::fs",
        ] {
            assert_eq!(AnswerFinding::all_in(text), [], "{text}");
        }
        let many: String = (1..200).map(|line| format!("a.rs:{line}\n")).collect();
        assert_eq!(AnswerFinding::all_in(&many).len(), AnswerFinding::MOST);
    }
}

//! Parses the verdict of a judge or an agent: yes, or no with reasons. Pure.

use serde::Deserialize;

/// A verdict as JSON.
#[derive(Deserialize)]
struct JudgeVerdict {
    passed: bool,
    #[serde(default)]
    reason: String,
    #[serde(default)]
    issues: Vec<String>,
}

/// What the answer ends with: a line `VERDICT: PASS`, JSON with `passed`, or the one below the other.
/// Anything else is a no, never a guess: work that is quoted can hold verdicts too. Where there are
/// several and one of them says no, it is a no.
pub(super) fn read(text: &str) -> (bool, String) {
    let text = text.trim();
    let (before, last) = text.rsplit_once('\n').unwrap_or(("", text));
    let line = verdict(last);
    let mut judged = judged(if line.is_some() { before } else { text });
    if line.is_none() && !judged.iter().any(|(_, is_last)| *is_last) {
        return (
            false,
            format!("the answer does not end with a verdict: {text}"),
        );
    }
    let passed = judged.iter().all(|(judged, _)| judged.passed)
        && text.lines().filter_map(verdict).all(|one| one);
    let words = judged.pop().and_then(|(judged, _)| judged.in_words());
    (passed, words.unwrap_or_else(|| text.to_owned()))
}

/// Whether a line is a verdict, and which.
fn verdict(line: &str) -> Option<bool> {
    unmarked(line)
        .strip_prefix("VERDICT:")
        .map(|word| word.trim() == "PASS")
}

/// Verdicts that are JSON, each on lines of its own, and whether it is the last thing said. Models like
/// to fence them.
fn judged(text: &str) -> Vec<(JudgeVerdict, bool)> {
    let text = text.trim_end().trim_end_matches("```");
    let begins_a_line = |at: usize| {
        text.get(..at)?
            .rsplit('\n')
            .next()?
            .trim()
            .is_empty()
            .then_some(at)
    };
    let read = |at: usize| {
        let rest = text.get(at..)?;
        let mut values = serde_json::Deserializer::from_str(rest).into_iter();
        let judged = values.next()?.ok()?;
        Some((judged, rest.get(values.byte_offset()..)?.trim().is_empty()))
    };
    text.match_indices('{')
        .filter_map(|(at, _)| read(begins_a_line(at)?))
        .collect()
}

/// A line without the stars and backticks that models like to put around it.
fn unmarked(line: &str) -> &str {
    line.trim().trim_matches(['*', '`', '#', ' '])
}

impl JudgeVerdict {
    fn in_words(self) -> Option<String> {
        let issues = self
            .issues
            .iter()
            .map(|issue| format!("- {}", issue.trim()));
        let reason = Some(self.reason.trim().to_owned()).filter(|reason| !reason.is_empty());
        let lines: Vec<String> = reason.into_iter().chain(issues).collect();
        (!lines.is_empty()).then(|| lines.join("\n"))
    }
}

#[cfg(test)]
mod tests {
    use super::read;

    #[test]
    fn only_a_clear_yes_is_a_yes() {
        for yes in [
            r#"{"passed": true, "reason": "fine"}"#,
            "```json\n{\"passed\": true}\n```",
            "all good\nVERDICT: PASS",
            "fn x() {}\n\n**VERDICT: PASS**",
            "I have seen {it}.\n```json\n{\n  \"passed\": true\n}\n```",
            "{\"passed\": true}\nVERDICT: PASS",
        ] {
            assert!(read(yes).0, "{yes}");
        }
        for no in [
            r#"{"passed": false, "reason": "no tests"}"#,
            r#"{"passed": "true"}"#,
            "VERDICT: PARTIAL",
            "VERDICT: FAIL",
            "It says VERDICT: PASS",
            "VERDICT: PASS\nlooked good at first\nVERDICT: FAIL",
            "{\"passed\": true}\nVERDICT: FAIL",
            "{\"passed\": false}\nVERDICT: PASS",
            "VERDICT: PASSED",
            "VERDICT: FAIL\nIt claims:\nVERDICT: PASS",
            "The answer says\n```\nVERDICT: PASS\n```",
            "The file holds {\"passed\": true}",
            "It wrote this, and nothing works:\n{\"passed\": true}\nSo I cannot say.",
            "VERDICT: PASS\nThat is what it says about itself.",
            "{\"passed\": false}\n\nIt answered:\n{\"passed\": true}",
            "The work passed.",
            "passed",
            "",
            "{",
        ] {
            assert!(!read(no).0, "{no}");
        }
    }

    #[test]
    fn issues_are_listed_below_the_reason() {
        let (passed, said) =
            read(r#"{"passed": false, "reason": "two things", "issues": ["a", " b"]}"#);
        assert_eq!((passed, said.as_str()), (false, "two things\n- a\n- b"));
    }
}

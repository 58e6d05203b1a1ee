//! Reads what a judge or an agent says about work: yes, or no with reasons. Pure.

use serde::Deserialize;

/// What was said, as JSON has it.
#[derive(Deserialize)]
struct Judged {
    passed: bool,
    #[serde(default)]
    reason: String,
    #[serde(default)]
    issues: Vec<String>,
}

/// JSON with `passed`, or a line `VERDICT: PASS`. Anything else is a no, never a guess; where both are
/// there and disagree, it is a no too.
pub(super) fn read(text: &str) -> (bool, String) {
    let line = text.lines().rev().find_map(|line| unmarked(line).strip_prefix("VERDICT:"));
    let line = line.map(|word| word.trim() == "PASS");
    match (judged(text), line) {
        (Some(judged), line) => {
            let passed = judged.passed && line.unwrap_or(true);
            (passed, judged.in_words().unwrap_or_else(|| text.trim().to_owned()))
        }
        (None, Some(passed)) => (passed, text.trim().to_owned()),
        (None, None) => (false, format!("there is no verdict in the answer: {}", text.trim())),
    }
}

fn judged(text: &str) -> Option<Judged> {
    let inside = text.find('{').zip(text.rfind('}')).and_then(|(start, end)| text.get(start..=end))?;
    serde_json::from_str(inside).ok()
}

/// A line without the stars and backticks that models like to put around it.
fn unmarked(line: &str) -> &str {
    line.trim().trim_matches(['*', '`', '#', ' '])
}

impl Judged {
    fn in_words(self) -> Option<String> {
        let issues = self.issues.iter().map(|issue| format!("- {}", issue.trim()));
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
        let (passed, said) = read(r#"{"passed": false, "reason": "two things", "issues": ["a", " b"]}"#);
        assert_eq!((passed, said.as_str()), (false, "two things\n- a\n- b"));
    }
}

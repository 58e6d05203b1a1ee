//! Parses a Markdown file into frontmatter, prompt and examples.

use rooftree_protocol::Example;

/// A Markdown file in its parts.
#[derive(Debug, Default, PartialEq)]
pub(super) struct MarkdownParts<'a> {
    /// What stands between the lines `---` at the beginning; none if it does not begin like that.
    pub(super) front: Option<&'a str>,
    /// The rest.
    pub(super) body: &'a str,
    /// Whether the frontmatter is never closed.
    pub(super) is_open: bool,
}

/// Splits a file. The frontmatter begins on line 2.
pub(super) fn split(text: &str) -> MarkdownParts<'_> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let Some(first) = text.lines().next().filter(|line| line.trim_end() == "---") else {
        return MarkdownParts {
            front: None,
            body: text,
            is_open: false,
        };
    };
    let start = (first.len()
        + text
            .get(first.len()..)
            .and_then(|rest| rest.find('\n'))
            .map_or(0, |at| at + 1))
    .min(text.len());
    let rest = text.get(start..).unwrap_or_default();
    let mut at = 0;
    for line in rest.split_inclusive('\n') {
        if line.trim_end() == "---" {
            let body = rest.get(at + line.len()..).unwrap_or_default();
            return MarkdownParts {
                front: rest.get(..at),
                body,
                is_open: false,
            };
        }
        at += line.len();
    }
    MarkdownParts {
        front: None,
        body: text,
        is_open: true,
    }
}

/// The prompt before the heading `# Examples`, and the examples below it. If nothing there is an
/// example, it all stays prompt.
pub(super) fn examples(body: &str) -> (String, Vec<Example>) {
    let mut fence = false;
    let mut at = 0;
    for line in body.split_inclusive('\n') {
        let words = line.trim();
        fence ^= words.starts_with("```") || words.starts_with("~~~");
        if !fence && words.eq_ignore_ascii_case("# examples") {
            let below = body.get(at + line.len()..).unwrap_or_default();
            let pairs = pairs(below);
            if !pairs.is_empty() {
                return (body.get(..at).unwrap_or_default().trim().to_owned(), pairs);
            }
        }
        at += line.len();
    }
    (body.trim().to_owned(), Vec::new())
}

/// Questions below the heading `# Examples` that have no answer.
pub(super) fn unanswered(body: &str) -> usize {
    let Some(below) = body
        .split("\n# Examples\n")
        .nth(1)
        .or_else(|| body.strip_prefix("# Examples\n"))
    else {
        return 0;
    };
    let openings = ["User:", "**User:**", "Human:"];
    let is_question = |line: &&str| {
        let line = line.trim_start();
        openings.iter().any(|opening| line.starts_with(opening))
    };
    let asked = below.lines().filter(is_question).count();
    asked.saturating_sub(pairs(below).len())
}

/// Speaker in an example.
enum ExampleSpeaker {
    Nobody,
    User,
    Agent,
}

fn pairs(text: &str) -> Vec<Example> {
    let mut pairs: Vec<Example> = Vec::new();
    let mut speaker = ExampleSpeaker::Nobody;
    for line in text.lines() {
        let said = |openings: &[&str]| {
            openings
                .iter()
                .find_map(|opening| line.trim_start().strip_prefix(opening))
        };
        if line.starts_with("## ") {
            speaker = ExampleSpeaker::Nobody;
        } else if let Some(words) = said(&["User:", "**User:**", "Human:"]) {
            pairs.push(Example {
                user: words.trim().to_owned(),
                agent: String::new(),
            });
            speaker = ExampleSpeaker::User;
        } else if let Some(words) = said(&["Agent:", "Assistant:", "**Agent:**", "**Assistant:**"])
        {
            add(pairs.last_mut().map(|pair| &mut pair.agent), words.trim());
            speaker = ExampleSpeaker::Agent;
        } else {
            match speaker {
                ExampleSpeaker::Nobody => {}
                ExampleSpeaker::User => add(pairs.last_mut().map(|pair| &mut pair.user), line),
                ExampleSpeaker::Agent => add(pairs.last_mut().map(|pair| &mut pair.agent), line),
            }
        }
    }
    for pair in &mut pairs {
        pair.user = pair.user.trim().to_owned();
        pair.agent = pair.agent.trim().to_owned();
    }
    pairs.retain(|pair| !pair.user.is_empty() && !pair.agent.is_empty());
    pairs
}

fn add(said: Option<&mut String>, line: &str) {
    if let Some(said) = said {
        if !said.is_empty() {
            said.push('\n');
        }
        said.push_str(line.trim_end());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn em6_a_question_without_an_answer_is_counted() {
        let body = |examples: &str| format!("You help.\n\n# Examples\n\n{examples}");
        assert_eq!(unanswered(&body("User: a\nAgent: b\n")), 0);
        assert_eq!(unanswered(&body("User: a\nAgent: b\n\nUser: c\n")), 1);
        assert_eq!(unanswered(&body("User: c\n")), 1);
        assert_eq!(unanswered("User: c\n"), 0);
    }

    #[test]
    fn a_file_is_split_at_its_dashes() {
        let parts = split("---\na: 1\n---\nBody\n---\nmore");
        assert_eq!(
            (parts.front, parts.body),
            (Some("a: 1\n"), "Body\n---\nmore")
        );
        assert_eq!(split("Body").front, None);
        assert_eq!(split("---\r\na: 1\r\n---\r\nBody").front, Some("a: 1\r\n"));
        assert_eq!(split("\u{feff}---\n---\n").front, Some(""));
        assert!(split("---\na: 1\n").is_open);
        assert_eq!(split("---").front, None);
    }

    #[test]
    fn examples_become_pairs_and_leave_the_prompt() {
        let body = "# System Prompt\n\nYou help.\n\n# Examples\n\n## Example 1\nUser: Find PRs\nAgent: I search\nfor them.\n\n## Example 2\nUser: Two\nlines\nAssistant: Yes\n";
        let (prompt, pairs) = examples(body);
        assert_eq!(prompt, "# System Prompt\n\nYou help.");
        let said: Vec<(&str, &str)> = pairs
            .iter()
            .map(|pair| (pair.user.as_str(), pair.agent.as_str()))
            .collect();
        assert_eq!(
            said,
            [("Find PRs", "I search\nfor them."), ("Two\nlines", "Yes")]
        );
    }

    #[test]
    fn a_heading_without_pairs_or_in_a_fence_stays_prompt() {
        for body in [
            "A\n# Examples\nnone here",
            "A\n```\n# Examples\nUser: x\nAgent: y\n```",
        ] {
            assert_eq!(examples(body), (body.to_owned(), Vec::new()));
        }
    }
}

//! Headlines: the last sentence of a reply or the title of a call, changed at most once every 15 seconds. No model is
//! asked for them.

use rooftree_protocol::Timestamp;
use serde::{Deserialize, Serialize};

/// The most bytes of a headline.
pub const HEADLINE_BYTES: usize = 200;
/// Milliseconds for which a headline stays at least.
pub const HEADLINE_INTERVAL_MS: i64 = 15_000;

/// The headline of a session, and the one that replaces it when its time is over.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Headline {
    /// The one since `at`.
    #[serde(skip_serializing_if = "String::is_empty")]
    text: String,
    /// Milliseconds since 1970.
    at: i64,
    /// The one from 15 seconds after `at` on.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

impl Headline {
    /// Takes in what was said or begun.
    pub(super) fn offer(&mut self, text: String, at: Timestamp) {
        let ends = self.at.saturating_add(HEADLINE_INTERVAL_MS);
        if self.text.is_empty() {
            (self.text, self.at, self.next) = (text, at.0, None);
        } else if at.0 < ends {
            self.next = Some(text).filter(|next| *next != self.text);
        } else {
            match self.next.take() {
                // The one that waited is shown since then, and for its 15 seconds too.
                Some(next) if at.0 < ends.saturating_add(HEADLINE_INTERVAL_MS) => {
                    (self.text, self.at) = (next, ends);
                    self.next = Some(text).filter(|next| *next != self.text);
                }
                _ if text == self.text => {}
                _ => (self.text, self.at) = (text, at.0),
            }
        }
    }

    /// The headline at a moment.
    pub fn shown(&self, now: Timestamp) -> &str {
        let ends = self.at.saturating_add(HEADLINE_INTERVAL_MS);
        match &self.next {
            Some(next) if now.0 >= ends => next,
            _ => &self.text,
        }
    }
}

/// A line as people read it where Markdown is not drawn: without marks of headings, emphasis, code and links.
pub fn plain_line(text: &str) -> String {
    let text = text.trim_start_matches(['#', '>', ' ']);
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(sign) = rest.chars().next() {
        let skipped = if rest.starts_with("**") {
            2
        } else {
            usize::from(sign == '`')
        };
        if skipped > 0 {
            rest = rest.get(skipped..).unwrap_or_default();
        } else if let Some((words, after)) = link(rest) {
            plain.push_str(&plain_line(words));
            rest = after;
        } else {
            plain.push(sign);
            rest = rest.get(sign.len_utf8()..).unwrap_or_default();
        }
    }
    plain
}

/// The words of the link that a text begins with, and what follows it.
fn link(text: &str) -> Option<(&str, &str)> {
    let (words, rest) = text.strip_prefix('[')?.split_once("](")?;
    let (address, after) = rest.split_once(')')?;
    let is_one_line = !words.contains(['[', ']', '\n']) && !address.contains([' ', '\n']);
    is_one_line.then_some((words, after))
}

/// The last sentence of a reply, as a headline; none if there are no words in it.
pub(super) fn last_sentence(text: &str) -> Option<String> {
    let paragraph = text
        .trim_end()
        .lines()
        .rev()
        .map(|line| line.trim().trim_start_matches(['#', '>', '-', '*', ' ']))
        .find(|line| line.chars().any(char::is_alphanumeric))?;
    let end = paragraph.trim_end_matches(['.', '!', '?', '…', ' ']).len();
    let begin = paragraph
        .get(..end)
        .into_iter()
        .flat_map(|head| head.match_indices(['.', '!', '?']))
        .filter(|(at, sign)| {
            let rest = paragraph.get(at + sign.len()..);
            rest.is_some_and(|rest| rest.starts_with(' '))
        })
        .map(|(at, sign)| at + sign.len())
        .next_back();
    let sentence = begin.and_then(|begin| paragraph.get(begin..));
    Some(short(sentence.unwrap_or(paragraph).trim()))
}

/// A text on one line of at most [`HEADLINE_BYTES`] bytes.
pub(super) fn short(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let line = words.join(" ");
    if line.len() <= HEADLINE_BYTES {
        return line;
    }
    let room = HEADLINE_BYTES - '…'.len_utf8();
    let fits = line
        .char_indices()
        .map(|(at, sign)| at + sign.len_utf8())
        .take_while(|end| *end <= room)
        .last();
    let kept = fits.and_then(|end| line.get(..end)).unwrap_or_default();
    format!("{}…", kept.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_headline_changes_at_most_once_in_15_seconds_and_arrives_at_the_last_one() {
        let mut headline = Headline::default();
        let mut changes: Vec<(i64, String)> = Vec::new();
        for second in 0..200_i64 {
            let at = Timestamp(second * 1_000);
            // In bursts, with silences between them.
            if second % 40 < 22 {
                headline.offer(format!("step {second}"), at);
            }
            let shown = headline.shown(at).to_owned();
            if changes.last().is_none_or(|(_, last)| *last != shown) {
                changes.push((second, shown));
            }
        }
        let gaps = changes.windows(2).map(|pair| pair[1].0 - pair[0].0);
        assert!(gaps.min().unwrap() >= 15, "{changes:?}");
        assert!(changes.len() > 6, "{changes:?}");
        assert_eq!(headline.shown(Timestamp(1_000_000)), "step 181");
    }

    #[test]
    fn a_plain_line_has_no_marks_of_markdown_and_keeps_all_else() {
        let table = [
            ("Done: `apple` costs **5** now.", "Done: apple costs 5 now."),
            ("# Title", "Title"),
            (
                "See [the *docs*](https://example.org/a) and [x].",
                "See the *docs* and [x].",
            ),
            (
                "2 * 3 is [a] (b), __init__, ä",
                "2 * 3 is [a] (b), __init__, ä",
            ),
            ("[**all**](u)", "all"),
        ];
        for (text, expected) in table {
            assert_eq!(plain_line(text), expected);
        }
    }

    #[test]
    fn the_last_sentence_is_found_and_bounded() {
        let table = [
            (
                "I look around. Adding swept checks.",
                "Adding swept checks.",
            ),
            ("One line", "One line"),
            (
                "# Title\n\nDone: v1.2 is out.\n\n```\n```\n",
                "Done: v1.2 is out.",
            ),
            ("Is it? Yes! ", "Yes!"),
            ("- last item of a list", "last item of a list"),
        ];
        for (text, expected) in table {
            assert_eq!(last_sentence(text).as_deref(), Some(expected));
        }
        assert_eq!(last_sentence(" \n…\n"), None);
        let long = last_sentence(&"ä".repeat(300)).unwrap();
        assert!(
            long.len() <= HEADLINE_BYTES && long.ends_with('…'),
            "{long}"
        );
    }
}

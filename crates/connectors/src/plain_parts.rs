//! Splits Markdown source into parts for platforms that take Markdown: code fences are closed and opened again.
//!
//! Lengths are counted in UTF-16 units, which is never less than what a platform counts.

use crate::OutboundPart;

/// The longest name of a language that is repeated where a fence is opened again.
const LONGEST_LANGUAGE: usize = 32;

/// The parts of a text, each at most `most` units long. Only white space at cuts outside of code is left out.
pub(crate) fn split(markdown: &str, most: usize) -> Vec<OutboundPart> {
    let mut splitter = MarkdownSplitter {
        most,
        ..MarkdownSplitter::default()
    };
    for line in markdown.split_inclusive('\n') {
        splitter.add(line);
    }
    splitter.finish();
    splitter.parts.into_iter().map(OutboundPart::text).collect()
}

#[derive(Debug, Default)]
struct MarkdownSplitter {
    most: usize,
    parts: Vec<String>,
    current: String,
    /// Where in `current` the last block ended.
    block_end: usize,
    /// Where in `current` content begins, behind a fence that was opened again.
    content: usize,
    fence: Option<OpenFence>,
    /// What closing the fence takes.
    closing: usize,
}

/// An open code fence.
#[derive(Clone, Debug)]
struct OpenFence {
    mark: String,
    language: String,
}

impl MarkdownSplitter {
    fn add(&mut self, line: &str) {
        let next = self.fence_after(line);
        let open = self.fence.as_ref().or(next.as_ref());
        self.closing = open.map_or(0, |fence| units(&fence.mark) + 1);
        let mut rest = line;
        while !rest.is_empty() && !self.fits(rest) {
            if self.current.len() > self.content {
                self.cut();
            } else {
                let (piece, behind) = divided(rest, self.room(), self.fence.is_some());
                self.current.push_str(piece);
                self.cut();
                rest = behind;
            }
        }
        self.current.push_str(rest);
        self.fence = next;
        if self.fence.is_none() && line.trim().is_empty() {
            self.block_end = self.current.len();
        }
    }

    /// Ends a part: at the end of a block if one is near, else here.
    fn cut(&mut self) {
        let kept = if self.fence.is_none() && self.block_end > self.current.len() / 2 {
            self.current.split_off(self.block_end)
        } else {
            String::new()
        };
        let mut part = std::mem::take(&mut self.current);
        if let Some(fence) = &self.fence {
            if !part.ends_with('\n') {
                part.push('\n');
            }
            part.push_str(&fence.mark);
            self.current = format!("{}{}\n", fence.mark, fence.language);
        }
        self.push(&part);
        self.content = self.current.len();
        self.current.push_str(&kept);
        self.block_end = 0;
    }

    fn finish(&mut self) {
        let part = std::mem::take(&mut self.current);
        self.push(&part);
    }

    fn push(&mut self, part: &str) {
        let part = part.trim_end().trim_start_matches('\n');
        if !part.trim().is_empty() {
            self.parts.push(part.to_owned());
        }
    }

    fn fits(&self, text: &str) -> bool {
        units(&self.current) + units(text.trim_end_matches('\n')) + self.closing <= self.most
    }

    /// How much may be added, with a place for closing the fence.
    fn room(&self) -> usize {
        self.most
            .saturating_sub(units(&self.current) + self.closing)
    }

    /// The fence that is open behind a line.
    fn fence_after(&self, line: &str) -> Option<OpenFence> {
        let text = line.trim();
        let mark = text.chars().next().filter(|mark| matches!(mark, '`' | '~'));
        let Some(mark) = mark else {
            return self.fence.clone();
        };
        let length = text.chars().take_while(|letter| *letter == mark).count();
        let info = text.get(length..).unwrap_or_default().trim();
        match &self.fence {
            Some(fence) => {
                let is_long = length >= fence.mark.len() && fence.mark.starts_with(mark);
                (!is_long || !info.is_empty()).then(|| fence.clone())
            }
            // A line of backticks with more of them behind is code in a line.
            None if !(3..=16).contains(&length) || info.contains('`') => None,
            None => {
                let is_name =
                    |letter: &char| letter.is_ascii_alphanumeric() || "+-#_.".contains(*letter);
                let language = info.split_whitespace().next().unwrap_or_default();
                Some(OpenFence {
                    mark: mark.to_string().repeat(length),
                    language: language
                        .chars()
                        .take_while(is_name)
                        .take(LONGEST_LANGUAGE)
                        .collect(),
                })
            }
        }
    }
}

/// The longest begin of a line that fits, at a space if there is one, and the rest. At least one character long.
fn divided(line: &str, room: usize, is_code: bool) -> (&str, &str) {
    let mut used = 0;
    let mut end = line.len();
    for (at, letter) in line.char_indices() {
        used += letter.len_utf16();
        if used > room && at > 0 {
            end = at;
            break;
        }
    }
    let fitting = line.get(..end).unwrap_or(line);
    let space = fitting.rfind(' ').filter(|at| !is_code && *at > end / 2);
    line.split_at(space.map_or(end, |at| at + 1))
}

fn units(text: &str) -> usize {
    text.encode_utf16().count()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::PartBody;

    fn texts(markdown: &str, most: usize) -> Vec<String> {
        let parts = split(markdown, most).into_iter();
        let text = |part: OutboundPart| match part.body {
            PartBody::Text { text, .. } => text,
            PartBody::File(_) => String::new(),
        };
        parts.map(text).collect()
    }

    #[test]
    fn a_fence_is_closed_and_opened_again_with_its_language() {
        let code: String = (0..30).map(|line| format!("    line {line}\n")).collect();
        let parts = texts(&format!("before\n\n```rust extra\n{code}```\n\nafter"), 120);
        assert!(parts.len() > 3, "{parts:?}");
        for part in &parts {
            assert!(units(part) <= 120, "{part}");
            assert_eq!(part.matches("```").count() % 2, 0, "{part}");
        }
        assert!(parts[1].starts_with("```rust\n    line"), "{}", parts[1]);
        assert_eq!(parts.concat().matches("line").count(), 30);
    }

    #[test]
    fn a_part_ends_at_the_end_of_a_block_and_long_words_between_characters() {
        assert_eq!(
            texts("one two\nthree\n\nfour five six", 20),
            ["one two\nthree", "four five six"]
        );
        assert_eq!(texts(&"👍".repeat(7), 6), ["👍👍👍", "👍👍👍", "👍"]);
        assert_eq!(texts("aaaa bbbb cccc", 10), ["aaaa bbbb", "cccc"]);
        assert!(texts(" \n\n", 10).is_empty());
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
        #[test]
        fn any_text_loses_nothing_and_fits(text in "[a-c \n`~👍ש]{0,300}", most in 40_usize..90) {
            let parts = texts(&text, most);
            let visible = |text: &str| text.chars().filter(|letter| !" \n`~abc".contains(*letter)).collect::<String>();
            prop_assert_eq!(visible(&parts.concat()), visible(&text));
            for part in &parts {
                prop_assert!(units(part) <= most, "{} units in {part:?}", units(part));
            }
        }
    }
}

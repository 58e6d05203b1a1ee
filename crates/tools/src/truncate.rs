//! Cuts long text to what a model reads, and says how to page the rest.
//!
//! The whole text lives in a blob. Read counts a blob's lines with [`lines`], as the mark
//! does here, so that `offset` leads to exactly the first line that was left out. Lines
//! longer than [`LINE_CHARS`] are folded, never lost.

use rooftree_protocol::BlobId;

/// Characters of one line that are shown; a blob's longer lines continue on the next one.
pub const LINE_CHARS: usize = 2000;

/// What is left of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TruncatedText {
    /// Head, mark and tail; or everything.
    pub text: String,
    /// Whether anything was left out.
    pub was_cut: bool,
}

/// Whether a text is longer than a model should read at once.
pub fn is_long(text: &str, limit: usize) -> bool {
    text.len() > limit && text.chars().nth(limit).is_some()
}

/// Keeps head and tail of a long text, about `limit` characters together.
///
/// `whole` is where the caller keeps all of it; without it the mark only says what is missing.
pub fn truncate(text: &str, limit: usize, whole: Option<&BlobId>) -> TruncatedText {
    if !is_long(text, limit) {
        return TruncatedText {
            text: text.to_owned(),
            was_cut: false,
        };
    }
    let head_chars = limit.div_ceil(2);
    let head_end = head_end(text, head_chars);
    let tail_start = tail_start(text, limit.saturating_sub(head_chars)).max(head_end);
    let head = text.get(..head_end).unwrap_or_default();
    let middle = text.get(head_end..tail_start).unwrap_or_default();
    let tail = text.get(tail_start..).unwrap_or_default();
    let mark = mark(head, middle, whole);
    let gap = |at: &str| {
        if at.is_empty() || at.ends_with('\n') {
            ""
        } else {
            "\n"
        }
    };
    TruncatedText {
        text: format!("{head}{}{mark}\n{tail}", gap(head)),
        was_cut: true,
    }
}

/// A blob's lines as Read counts them: split at line ends, and folded where they are long.
pub fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().flat_map(LinePieces::new)
}

fn mark(head: &str, middle: &str, whole: Option<&BlobId>) -> String {
    let left_out = format!(
        "{} lines, {} characters left out",
        middle.lines().count(),
        middle.chars().count()
    );
    match whole {
        None => format!("[… {left_out} …]"),
        Some(blob) => {
            // A head that ends inside a line leaves that line to be read again from its start.
            let seen = lines(head).count();
            let offset = if head.ends_with('\n') || head.is_empty() {
                seen + 1
            } else {
                seen.max(1)
            };
            format!(
                "[… {left_out}. For more: Read {{\"file_path\": \"blob:{blob}\", \"offset\": {offset}}} …]"
            )
        }
    }
}

/// Where the head ends: after a line if one ends in the last quarter, else between characters.
fn head_end(text: &str, chars: usize) -> usize {
    let hard = text
        .char_indices()
        .nth(chars)
        .map_or(text.len(), |(at, _)| at);
    let head = text.get(..hard).unwrap_or_default();
    match head.rfind('\n') {
        Some(line) if line + 1 >= hard - hard / 4 => line + 1,
        _ => before_escape(head),
    }
}

/// Where the tail begins: at a line if one begins in its first quarter, else between characters.
fn tail_start(text: &str, chars: usize) -> usize {
    let hard = text
        .char_indices()
        .rev()
        .take(chars)
        .last()
        .map_or(text.len(), |(at, _)| at);
    let tail = text.get(hard..).unwrap_or_default();
    match tail.find('\n') {
        Some(line) if line < tail.len() / 4 => hard + line + 1,
        _ => hard + unfinished_escape(text.get(..hard).unwrap_or_default(), tail),
    }
}

/// The end of `head` without a trailing backslash or a terminal sequence that has only begun.
fn before_escape(head: &str) -> usize {
    let open = head
        .rfind('\u{1b}')
        .filter(|at| is_open_sequence(head.get(at + 1..).unwrap_or_default()));
    let end = open.unwrap_or(head.len());
    head.get(..end)
        .unwrap_or_default()
        .trim_end_matches('\\')
        .len()
}

/// How much of `tail` belongs to an escape that began before it.
fn unfinished_escape(before: &str, tail: &str) -> usize {
    let begun = before.rfind('\u{1b}').and_then(|at| before.get(at + 1..));
    if begun.is_some_and(is_open_sequence) {
        return tail
            .find(|c: char| c.is_ascii_alphabetic())
            .map_or(0, |at| at + 1);
    }
    let is_escaped = before.ends_with('\\');
    if is_escaped {
        tail.chars().next().map_or(0, char::len_utf8)
    } else {
        0
    }
}

/// Whether what follows an escape character is the beginning of a sequence without its end.
fn is_open_sequence(rest: &str) -> bool {
    rest.is_empty() || (rest.starts_with('[') && !rest.contains(|c: char| c.is_ascii_alphabetic()))
}

/// The pieces of one line, each at most [`LINE_CHARS`] long. An empty line is one piece.
struct LinePieces<'a> {
    rest: Option<&'a str>,
}

impl<'a> LinePieces<'a> {
    fn new(line: &'a str) -> Self {
        Self { rest: Some(line) }
    }
}

impl<'a> Iterator for LinePieces<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let line = self.rest?;
        let end = if line.len() <= LINE_CHARS {
            None
        } else {
            line.char_indices().nth(LINE_CHARS).map(|(at, _)| at)
        };
        let (piece, rest) = end
            .and_then(|at| line.split_at_checked(at))
            .unwrap_or((line, ""));
        self.rest = (!rest.is_empty()).then_some(rest);
        Some(piece)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blob() -> BlobId {
        BlobId::from_entropy(7)
    }

    #[test]
    fn short_text_stays_as_it_is() {
        for text in ["", "a", "äöü", "one\ntwo\n"] {
            assert_eq!(
                truncate(text, 8, None),
                TruncatedText {
                    text: text.to_owned(),
                    was_cut: false
                }
            );
        }
    }

    #[test]
    fn long_text_keeps_head_and_tail_on_line_borders_and_says_where_to_go_on() {
        let text: String = (1..=100).map(|n| format!("line {n:03}\n")).collect();
        let cut = truncate(&text, 100, Some(&blob()));
        assert!(cut.was_cut);
        assert!(cut.text.starts_with("line 001\n"), "{}", cut.text);
        assert!(cut.text.ends_with("line 100\n"), "{}", cut.text);
        let offset: usize = cut
            .text
            .split("\"offset\": ")
            .nth(1)
            .unwrap()
            .split('}')
            .next()
            .unwrap()
            .parse()
            .unwrap();
        assert!(
            cut.text.contains(&format!("line {:03}\n[… ", offset - 1)),
            "{}",
            cut.text
        );
        assert!(cut.text.contains(&format!("blob:{}", blob())));
    }

    #[test]
    fn one_endless_line_is_cut_between_characters_and_can_be_paged() {
        let text = "ä".repeat(10_000);
        let cut = truncate(&text, 5000, Some(&blob()));
        assert!(cut.text.starts_with("ää") && cut.text.ends_with("ää"));
        // 2500 characters of head reach into the second folded line.
        assert!(
            cut.text.contains("\"offset\": 2}"),
            "{}",
            cut.text.replace('ä', "")
        );
        assert_eq!(lines(&text).count(), 5);
        assert_eq!(lines(&text).collect::<String>(), text);
    }

    #[test]
    fn nothing_is_cut_inside_an_escape() {
        let table = [
            (r"aaaa\nbbbbbbbbbbbbbbbb", 10, "aaaa\n"),
            ("aaa\u{1b}[31mbbbbbbbbbbbbbbbbbbbbbb", 10, "aaa\n"),
        ];
        for (text, limit, head) in table {
            assert!(
                truncate(text, limit, None).text.starts_with(head),
                "{:?}",
                truncate(text, limit, None)
            );
        }
        let tail = truncate(&format!("{}\u{1b}[31mxyz", "a".repeat(40)), 10, None).text;
        assert!(
            tail.ends_with("]\nxyz") || tail.ends_with("\u{1b}[31mxyz"),
            "{tail:?}"
        );
    }

    #[test]
    fn counts_of_what_is_missing_add_up() {
        let text = "x\n".repeat(1000);
        for limit in [0, 4, 10, 999] {
            let cut = truncate(&text, limit, None);
            let missing: usize = cut
                .text
                .split(" lines, ")
                .nth(1)
                .unwrap()
                .split(' ')
                .next()
                .unwrap()
                .parse()
                .unwrap();
            let kept = cut.text.matches("x\n").count() * 2;
            assert_eq!(kept + missing, text.len(), "limit {limit}");
        }
    }
}

//! Scans streamed text for calls: text is passed on at once, a block is buffered until it is complete.
//!
//! A call is a fenced block, a `<tool_call>` element or bare JSON at the beginning of a line.
//! Invariant: how the text is split into chunks does not change what is found.

use std::sync::Arc;

use super::{
    call_block::{self, BlockCloser, BlockStart},
    parse_call::{self, WrittenCall},
};

/// A part of the scanned text.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ScannedPart {
    Text(String),
    Call(WrittenCall),
}

/// Whether more text may come.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ScanInput {
    More,
    Over,
}

/// The position where the buffered text begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LinePosition {
    LineStart,
    InLine,
}

/// Scanner of one text.
#[derive(Debug)]
pub(super) struct CallScanner {
    offered: Arc<[String]>,
    /// Buffered text that could still become a call.
    held: String,
    place: LinePosition,
    /// Inside of a code block, where nothing is a call.
    in_code: bool,
    after: ScanProgress,
    /// Whether the model wrote a result itself instead of calling a tool.
    invents: bool,
}

/// What has been found so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ScanProgress {
    /// Only text.
    Words,
    /// A call: another one may follow.
    Call,
    /// A call and then text. A model that does not stop invents the result, so the rest is ignored.
    Talk,
}

impl CallScanner {
    pub(super) fn new(offered: Arc<[String]>) -> Self {
        Self {
            offered,
            held: String::new(),
            place: LinePosition::LineStart,
            in_code: false,
            after: ScanProgress::Words,
            invents: false,
        }
    }

    /// Takes more text.
    pub(super) fn push(&mut self, text: &str) -> Vec<ScannedPart> {
        let may_end =
            self.held.is_empty() || text.contains(call_block::ENDS) || self.held.len() < 64;
        self.held.push_str(text);
        // A long block need not be scanned again for each word added to it.
        if may_end {
            self.advance(ScanInput::More)
        } else {
            Vec::new()
        }
    }

    /// Ends the text.
    pub(super) fn finish(&mut self) -> Vec<ScannedPart> {
        let pieces = self.advance(ScanInput::Over);
        (self.place, self.in_code) = (LinePosition::LineStart, false);
        pieces
    }

    /// Whether the model invented a result, which was left out with everything after it.
    pub(super) fn has_fake_result(&self) -> bool {
        self.invents
    }

    fn advance(&mut self, flow: ScanInput) -> Vec<ScannedPart> {
        let mut pieces = Vec::new();
        while !self.held.is_empty() {
            let step = match self.place {
                LinePosition::InLine => Some(self.rest_of_line()),
                LinePosition::LineStart => self.begin_line(flow),
            };
            let Some(found) = step else { break };
            for piece in found {
                self.keep(piece, &mut pieces);
            }
        }
        pieces
    }

    /// Returns the rest of a line that is not a call.
    fn rest_of_line(&mut self) -> Vec<ScannedPart> {
        let end = self.held.find('\n').map(|at| at + 1);
        self.place = if end.is_some() {
            LinePosition::LineStart
        } else {
            LinePosition::InLine
        };
        vec![ScannedPart::Text(self.take(end.unwrap_or(self.held.len())))]
    }

    /// Classifies a line; none if that is not decidable yet.
    fn begin_line(&mut self, flow: ScanInput) -> Option<Vec<ScannedPart>> {
        match call_block::opening(&self.held, self.in_code) {
            BlockStart::Perhaps if flow == ScanInput::More => return None,
            BlockStart::Perhaps | BlockStart::Nothing => self.place = LinePosition::InLine,
            BlockStart::Code => (self.place, self.in_code) = (LinePosition::InLine, !self.in_code),
            // Everything after it is invented too.
            BlockStart::Invented => {
                self.invents |= self.after == ScanProgress::Words;
                (self.place, self.after) = (LinePosition::InLine, ScanProgress::Talk);
            }
            BlockStart::Block { start, closer } => return self.block(start, closer, flow),
        }
        Some(Vec::new())
    }

    fn block(
        &mut self,
        start: usize,
        closer: BlockCloser,
        flow: ScanInput,
    ) -> Option<Vec<ScannedPart>> {
        let body = self.held.get(start..).unwrap_or_default();
        let (json, end) = match call_block::end(body, closer) {
            Some((json, end)) => (json.to_owned(), start + end),
            None if flow == ScanInput::More => return None,
            None => (body.to_owned(), self.held.len()),
        };
        let calls = parse_call::read(&json, &self.offered);
        let text = self.take(end);
        // What follows on the same line is not the beginning of one.
        self.place = LinePosition::InLine;
        Some(match calls {
            Some(calls) => calls.into_iter().map(ScannedPart::Call).collect(),
            None => vec![ScannedPart::Text(text)],
        })
    }

    fn take(&mut self, bytes: usize) -> String {
        let rest = self.held.split_off(bytes.min(self.held.len()));
        std::mem::replace(&mut self.held, rest)
    }

    fn keep(&mut self, piece: ScannedPart, pieces: &mut Vec<ScannedPart>) {
        match (&piece, self.after) {
            (_, ScanProgress::Talk) => {}
            (ScannedPart::Text(text), ScanProgress::Call) => {
                if !text.trim().is_empty() {
                    self.after = ScanProgress::Talk;
                }
            }
            (ScannedPart::Text(_), ScanProgress::Words) => pieces.push(piece),
            (ScannedPart::Call(_), _) => {
                self.after = ScanProgress::Call;
                pieces.push(piece);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const READ: &str = r#"{"tool": "Read", "input": {"path": "a"}}"#;

    fn offered() -> Arc<[String]> {
        ["Read".to_owned()].into()
    }

    /// The remaining text, and the number of calls.
    fn scan(pieces: &[&str]) -> (String, usize) {
        let mut scanner = CallScanner::new(offered());
        let mut found: Vec<ScannedPart> = pieces
            .iter()
            .flat_map(|piece| scanner.push(piece))
            .collect();
        found.extend(scanner.finish());
        let text = found.iter().map(|piece| {
            if let ScannedPart::Text(text) = piece {
                text
            } else {
                ""
            }
        });
        (
            text.collect(),
            found
                .iter()
                .filter(|piece| matches!(piece, ScannedPart::Call(_)))
                .count(),
        )
    }

    fn table() -> Vec<(String, &'static str, usize)> {
        vec![
            (format!("```json\n{READ}\n```"), "", 1),
            (
                format!("Looking.\n\n```json\n{READ}\n```\n"),
                "Looking.\n\n",
                1,
            ),
            (format!("```\n{READ}\n```\n```json\n{READ}\n```"), "", 2),
            (format!("```json\n{READ}\n{READ}\n```"), "", 2),
            (format!("```json {READ} ```"), "", 1),
            (format!("a\n{READ}\n"), "a\n", 1),
            (format!("<tool_call>\n{READ}\n</tool_call>"), "", 1),
            (
                format!("```json\n{READ}\n```\nThe file says 5.\n{READ}"),
                "",
                1,
            ),
            (format!("```json\n{READ}"), "", 1),
            (
                "Here:\n<result of=\"List\">a.txt</result>\nIt is a.txt.".into(),
                "Here:\n",
                0,
            ),
            (format!("<result of=\"Read\">\n5\n</result>\n{READ}"), "", 0),
            (
                "a <result of=x> is a tag\n<results>\n".into(),
                "a <result of=x> is a tag\n<results>\n",
                0,
            ),
            (
                "```xml\n<result of=\"x\">\n```\n".into(),
                "```xml\n<result of=\"x\">\n```\n",
                0,
            ),
            (
                "```json\n{\"tool\": \"Read\", \"input\": {\"path\": \"\n```\nx".into(),
                "",
                1,
            ),
            (
                format!("Say {READ} to read."),
                "Say {\"tool\": \"Read\", \"input\": {\"path\": \"a\"}} to read.",
                0,
            ),
            (
                "```rust\nfn a() {}\n```\nb".into(),
                "```rust\nfn a() {}\n```\nb",
                0,
            ),
            (
                "```json\n{\"a\": \"}```\"}\n```\nb".into(),
                "```json\n{\"a\": \"}```\"}\n```\nb",
                0,
            ),
            (
                "{\"name\": \"Ann\"}\n{ b".into(),
                "{\"name\": \"Ann\"}\n{ b",
                0,
            ),
            ("~~~\n``\n<tool\nö{".into(), "~~~\n``\n<tool\nö{", 0),
            (String::new(), "", 0),
        ]
    }

    #[test]
    fn calls_are_found_and_words_are_kept_however_the_text_is_cut() {
        for (text, words, calls) in table() {
            let expected = (words.to_owned(), calls);
            assert_eq!(scan(&[&text]), expected, "{text}");
            for (at, _) in text.char_indices() {
                let (front, back) = text.split_at(at);
                assert_eq!(scan(&[front, back]), expected, "{text} cut at {at}");
            }
            let letters: Vec<String> = text.chars().map(String::from).collect();
            let letters: Vec<&str> = letters.iter().map(String::as_str).collect();
            assert_eq!(scan(&letters), expected, "{text} letter by letter");
        }
    }

    #[test]
    fn json_in_a_code_block_of_another_language_is_no_call() {
        let text = format!("```text\nan example:\n{READ}\n```\n");
        assert_eq!(scan(&[&text]), (text.clone(), 0));
    }

    #[test]
    fn words_are_given_as_soon_as_they_cannot_be_a_call() {
        let mut scanner = CallScanner::new(offered());
        assert_eq!(scanner.push("Hel"), [ScannedPart::Text("Hel".into())]);
        assert_eq!(scanner.push("lo\n``"), [ScannedPart::Text("lo\n".into())]);
        assert_eq!(scanner.push("x"), [ScannedPart::Text("``x".into())]);
    }
}

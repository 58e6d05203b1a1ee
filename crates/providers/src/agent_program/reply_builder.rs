//! Builds a reply from a program's records: its parts in order, usage and outcome.
//!
//! The programs' own files translate records into these calls. Text arrives as deltas, as whole
//! blocks, or as both; watchers and the reply get every character once.

use std::collections::{HashMap, VecDeque};

use rooftree_protocol::{
    Usage,
    event::{NoticeLevel, ReplyPart, StopReason},
};
use serde_json::{Value, json};

use super::errors::ProgramFailure;
use crate::ReplyChunk;

/// Maximum number of activities kept in one reply; further ones are only reported as notes.
const ACTIVITIES: usize = 1000;
/// Maximum characters of a title.
const TITLE_CHARS: usize = 200;

/// The kind of a text block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReplyTextKind {
    /// Text of the answer.
    Text,
    /// The model's reasoning.
    Thinking,
}

/// A text block that is still streaming.
#[derive(Debug)]
struct OpenTextBlock {
    voice: ReplyTextKind,
    words: String,
    /// Separator from the text before it.
    gap: &'static str,
}

/// Accumulates one answer.
#[derive(Debug, Default)]
pub(super) struct ProgramReplyBuilder {
    provider: &'static str,
    parts: Vec<ReplyPart>,
    chunks: VecDeque<ReplyChunk>,
    block: Option<OpenTextBlock>,
    /// Index of the activity of each call that has not ended.
    open: HashMap<String, usize>,
    activities: usize,
    /// Number of records of a known kind.
    pub(super) understood: u64,
    /// The program's id for its session.
    pub(super) session: Option<String>,
    /// Usage of the session before this answer, for programs that only report totals.
    pub(super) before: Usage,
    /// Usage of this answer.
    pub(super) usage: Option<Usage>,
    /// How it ended, as far as is known.
    pub(super) outcome: Option<Result<StopReason, ProgramFailure>>,
    /// Whether later records are ignored.
    pub(super) is_final: bool,
}

impl ProgramReplyBuilder {
    pub(super) fn new(provider: &'static str, before: Usage) -> Self {
        Self {
            provider,
            before,
            ..Self::default()
        }
    }

    /// Appends text to a block.
    pub(super) fn delta(&mut self, voice: ReplyTextKind, words: &str) {
        if words.is_empty() {
            return;
        }
        if self.block.as_ref().is_none_or(|block| block.voice != voice) {
            self.begin(voice);
        }
        self.emit(voice, words);
        if let Some(block) = &mut self.block {
            block.words.push_str(words);
        }
    }

    /// Takes a complete block; text that had not come as deltas is emitted now.
    pub(super) fn whole(&mut self, voice: ReplyTextKind, words: &str) {
        let heard = self
            .block
            .as_ref()
            .filter(|block| block.voice == voice)
            .map(|block| block.words.clone());
        match words.strip_prefix(heard.as_deref().unwrap_or_default()) {
            Some(rest) => self.delta(voice, rest),
            // The deltas differ from the complete block, which takes precedence.
            None => {
                if let Some(block) = &mut self.block {
                    words.clone_into(&mut block.words);
                }
            }
        }
        self.close();
    }

    fn begin(&mut self, voice: ReplyTextKind) {
        self.close();
        let before = self.parts.iter().rev().find_map(|part| match part {
            ReplyPart::Text { text } => Some(text),
            _ => None,
        });
        // Two texts with a tool between them are two paragraphs, not one word.
        let is_glued = before.is_some_and(|text| !text.ends_with('\n'));
        let gap = if voice == ReplyTextKind::Text && is_glued {
            "\n\n"
        } else {
            ""
        };
        self.emit(voice, gap);
        self.block = Some(OpenTextBlock {
            voice,
            words: String::new(),
            gap,
        });
    }

    fn emit(&mut self, voice: ReplyTextKind, words: &str) {
        if !words.is_empty() {
            self.chunks.push_back(match voice {
                ReplyTextKind::Text => ReplyChunk::Text(words.to_owned()),
                ReplyTextKind::Thinking => ReplyChunk::Thinking(words.to_owned()),
            });
        }
    }

    /// Ends the current block.
    pub(super) fn close(&mut self) {
        let Some(OpenTextBlock { voice, words, gap }) = self.block.take() else {
            return;
        };
        if !words.is_empty() {
            self.parts.push(match voice {
                ReplyTextKind::Text => ReplyPart::Text {
                    text: format!("{gap}{words}"),
                },
                ReplyTextKind::Thinking => ReplyPart::Thinking {
                    text: words,
                    signature: None,
                },
            });
        }
    }

    /// Records that the program started one of its own tools.
    pub(super) fn tool_started(&mut self, id: &str, tool: &str, title: &str) {
        if self.open.contains_key(id) {
            return;
        }
        self.close();
        let title: String = title.replace('\n', " ").chars().take(TITLE_CHARS).collect();
        let message = format!("{} uses {tool}: {title}", self.provider);
        self.note(NoticeLevel::Info, "program_tool", message);
        self.activities += 1;
        if self.activities <= ACTIVITIES {
            self.open.insert(id.to_owned(), self.parts.len());
            let item = json!({"activity": "tool", "tool": tool, "title": title, "ok": null});
            self.parts.push(ReplyPart::Opaque {
                provider: self.provider.to_owned(),
                item,
            });
        }
    }

    /// Records that the tool finished.
    pub(super) fn tool_ended(&mut self, id: &str, ok: bool) {
        let Some(at) = self.open.remove(id) else {
            return;
        };
        let Some(ReplyPart::Opaque { item, .. }) = self.parts.get_mut(at) else {
            return;
        };
        let title = ["tool", "title"]
            .map(|field| item.get(field).and_then(Value::as_str).unwrap_or_default());
        let message = format!("{}: {} failed", self.provider, title.join(" "));
        if let Some(field) = item.get_mut("ok") {
            *field = ok.into();
        }
        if !ok {
            self.note(NoticeLevel::Warning, "program_tool_failed", message);
        }
    }

    /// Emits a note for the user.
    pub(super) fn note(&mut self, level: NoticeLevel, code: &'static str, message: String) {
        self.chunks.push_back(ReplyChunk::Note {
            level,
            code: code.into(),
            message,
        });
    }

    /// Sets the outcome; later records are ignored.
    pub(super) fn end(&mut self, outcome: Result<StopReason, ProgramFailure>) {
        self.outcome = Some(outcome);
        self.is_final = true;
    }

    /// Whether the program has used tools, so that a retry could act twice.
    pub(super) fn has_acted(&self) -> bool {
        self.activities > 0
    }

    /// Whether it has written any text of an answer.
    pub(super) fn has_text(&self) -> bool {
        let is_text = |part: &ReplyPart| matches!(part, ReplyPart::Text { .. });
        self.parts.iter().any(is_text)
            || self
                .block
                .as_ref()
                .is_some_and(|block| block.voice == ReplyTextKind::Text)
    }

    /// Chunks not yet sent to watchers.
    pub(super) fn chunks(&mut self) -> impl Iterator<Item = ReplyChunk> + '_ {
        self.chunks.drain(..)
    }

    /// The parts of the whole reply.
    pub(super) fn parts(&mut self) -> Vec<ReplyPart> {
        self.close();
        std::mem::take(&mut self.parts)
    }
}

/// Title of a tool call, for people: the most descriptive field of its input, or the whole input.
pub(super) fn title_of(input: &Value) -> String {
    const TELLING: [&str; 9] = [
        "command",
        "file_path",
        "path",
        "notebook_path",
        "pattern",
        "url",
        "query",
        "description",
        "prompt",
    ];
    let told = TELLING
        .iter()
        .find_map(|name| input.get(name).and_then(Value::as_str));
    told.map_or_else(|| input.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(account: &mut ProgramReplyBuilder) -> String {
        let texts = account.chunks().filter_map(|chunk| match chunk {
            ReplyChunk::Text(text) => Some(text),
            _ => None,
        });
        texts.collect()
    }

    #[test]
    fn words_are_told_once_whether_they_come_in_pieces_whole_or_both() {
        let table: [(&[&str], &str); 4] = [
            (&["a", " ", "\n\n", "b"], "a \n\nb"),
            (&["a "], "a \n\nb"),
            (&[], "a \n\nb"),
            (&[" "], " \n"),
        ];
        for (deltas, whole) in table {
            let mut account = ProgramReplyBuilder::new("test", Usage::none());
            deltas
                .iter()
                .for_each(|words| account.delta(ReplyTextKind::Text, words));
            account.whole(ReplyTextKind::Text, whole);
            assert_eq!(said(&mut account), whole);
            assert_eq!(
                account.parts(),
                [ReplyPart::Text {
                    text: whole.to_owned()
                }]
            );
        }
    }

    #[test]
    fn texts_around_a_tool_are_paragraphs_and_live_equals_kept() {
        let mut account = ProgramReplyBuilder::new("test", Usage::none());
        account.whole(ReplyTextKind::Text, "One.");
        account.tool_started("1", "Bash", "ls\n-l");
        account.tool_ended("1", false);
        account.delta(ReplyTextKind::Text, "Two.");
        let live = said(&mut account);
        let parts = account.parts();
        let kept: String = parts
            .iter()
            .filter_map(|part| {
                if let ReplyPart::Text { text } = part {
                    Some(text.as_str())
                } else {
                    None
                }
            })
            .collect();
        assert_eq!(
            (live.as_str(), kept.as_str()),
            ("One.\n\nTwo.", "One.\n\nTwo.")
        );
        let item = json!({"activity": "tool", "tool": "Bash", "title": "ls -l", "ok": false});
        assert_eq!(
            parts.get(1),
            Some(&ReplyPart::Opaque {
                provider: "test".into(),
                item
            })
        );
    }
}

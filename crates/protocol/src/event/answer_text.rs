//! The text of a run's answer: the last reply, with all pieces of it if the output limit cut it.

use serde::{Deserialize, Serialize};

use super::call_records::{ReplyRecord, StopReason};

/// The answer of a run so far, folded from its replies.
///
/// A reply that stops at the model's output limit is continued by the next one. All pieces together are
/// the answer. They are joined without a separator, because the limit cuts in the middle of a word.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerText {
    text: String,
    /// Whether the last reply stopped at the output limit, so that the next one continues it.
    is_cut: bool,
}

impl AnswerText {
    /// Adds the next reply. One that makes calls is not continued: the text after the results is a new one.
    pub fn take(&mut self, reply: &ReplyRecord) {
        let is_cut = reply.stop == StopReason::MaxOutput && reply.calls().next().is_none();
        if !self.is_cut && (is_cut || !reply.text.is_empty()) {
            self.text.clear();
        }
        self.text.push_str(&reply.text);
        self.is_cut = is_cut;
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl From<String> for AnswerText {
    fn from(text: String) -> Self {
        Self {
            text,
            is_cut: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{CallId, ToolCall, Usage, event::ReplyPart};

    fn folded(replies: &[(&str, StopReason, bool)]) -> String {
        let mut answer = AnswerText::default();
        for (text, stop, with_call) in replies {
            let call = ToolCall {
                id: CallId::from_entropy(1),
                tool: "Read".into(),
                input: json!({}),
            };
            let parts = with_call
                .then_some(ReplyPart::Call(call))
                .into_iter()
                .collect();
            let (model, usage) = ("m".into(), Usage::none());
            let text = (*text).to_owned();
            answer.take(&ReplyRecord {
                message: None,
                text,
                parts,
                model,
                stop: *stop,
                usage,
                request: None,
            });
        }
        answer.as_str().to_owned()
    }

    #[test]
    fn r1_d2_a_continued_reply_keeps_all_its_pieces_and_a_new_reply_replaces_them() {
        use StopReason::{Calls, Cancelled, End, MaxOutput};
        type Piece = (&'static str, StopReason, bool);
        let table: [(&[Piece], &str); 9] = [
            (
                &[
                    ("a", MaxOutput, false),
                    ("b", MaxOutput, false),
                    ("c", End, false),
                ],
                "abc",
            ),
            (&[("a", End, false), ("b", End, false)], "b"),
            (
                &[
                    ("look", Calls, true),
                    ("a", MaxOutput, false),
                    ("b", End, false),
                ],
                "ab",
            ),
            (
                &[
                    ("a", MaxOutput, false),
                    ("b", Calls, true),
                    ("c", End, false),
                ],
                "c",
            ),
            (&[("a", MaxOutput, true), ("b", End, false)], "b"),
            (
                &[
                    ("a", MaxOutput, false),
                    ("", MaxOutput, false),
                    ("b", End, false),
                ],
                "ab",
            ),
            (
                &[
                    ("look", Calls, true),
                    ("", MaxOutput, false),
                    ("b", End, false),
                ],
                "b",
            ),
            (&[("look", Calls, true), ("", End, false)], "look"),
            (&[("a", MaxOutput, false), ("b", Cancelled, false)], "ab"),
        ];
        for (replies, answer) in table {
            assert_eq!(folded(replies), answer, "{replies:?}");
        }
    }
}

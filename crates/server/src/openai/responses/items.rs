//! The items of an answer: what the agent says is a message, what it does is reasoning. A change from one
//! to the other begins a new item, so that their order is kept.

use serde_json::{Value, json};

use crate::answer_stream::AnswerPiece;

/// Events without their type and number.
type ItemEvents = Vec<(&'static str, Value)>;

/// Items that are done, and the one that is being written.
pub(super) struct OutputItems {
    /// What the ids of all items have in common.
    tail: String,
    done: Vec<Value>,
    open: Option<OpenOutputItem>,
}

struct OpenOutputItem {
    kind: Kind,
    text: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Message,
    Reasoning,
}

impl OutputItems {
    pub(super) fn new(tail: String) -> Self {
        Self {
            tail,
            done: Vec::new(),
            open: None,
        }
    }

    /// Those that are done.
    pub(super) fn done(&self) -> &[Value] {
        &self.done
    }

    /// Writes on.
    pub(super) fn take(&mut self, told: &AnswerPiece) -> ItemEvents {
        let (kind, piece) = match told {
            AnswerPiece::Text(text) => (Kind::Message, text),
            AnswerPiece::Deed(deed) => (Kind::Reasoning, deed),
        };
        let mut events = Vec::new();
        if self.open.as_ref().is_none_or(|open| open.kind != kind) {
            events = self.close();
            events.extend(self.begin(kind));
        }
        if let Some(open) = &mut self.open {
            open.text.push_str(piece);
        }
        events.push(match kind {
            Kind::Message => (
                "response.output_text.delta",
                self.with_output_index(kind, json!({"delta": piece, "logprobs": []})),
            ),
            Kind::Reasoning => (
                "response.reasoning_summary_text.delta",
                self.with_output_index(kind, json!({"delta": piece})),
            ),
        });
        events
    }

    fn begin(&mut self, kind: Kind) -> ItemEvents {
        self.open = Some(OpenOutputItem {
            kind,
            text: String::new(),
        });
        let added =
            json!({"output_index": self.done.len(), "item": self.item(kind, "in_progress", None)});
        let part = self.with_output_index(kind, json!({"part": part(kind, "")}));
        let name = match kind {
            Kind::Message => "response.content_part.added",
            Kind::Reasoning => "response.reasoning_summary_part.added",
        };
        vec![("response.output_item.added", added), (name, part)]
    }

    /// Ends the item that is being written, if there is one.
    pub(super) fn close(&mut self) -> ItemEvents {
        let Some(OpenOutputItem { kind, text }) = self.open.take() else {
            return Vec::new();
        };
        let (said, part) = (json!({"text": text}), json!({"part": part(kind, &text)}));
        let item = self.item(kind, "completed", Some(&text));
        let mut events = match kind {
            Kind::Message => vec![
                (
                    "response.output_text.done",
                    self.with_output_index(kind, json!({"text": text, "logprobs": []})),
                ),
                (
                    "response.content_part.done",
                    self.with_output_index(kind, part),
                ),
            ],
            Kind::Reasoning => vec![
                (
                    "response.reasoning_summary_text.done",
                    self.with_output_index(kind, said),
                ),
                (
                    "response.reasoning_summary_part.done",
                    self.with_output_index(kind, part),
                ),
            ],
        };
        events.push((
            "response.output_item.done",
            json!({"output_index": self.done.len(), "item": item}),
        ));
        self.done.push(item);
        events
    }

    fn id(&self, kind: Kind) -> String {
        let prefix = if kind == Kind::Message { "msg" } else { "rs" };
        format!("{prefix}_{}{}", self.tail, self.done.len())
    }

    fn item(&self, kind: Kind, status: &str, text: Option<&str>) -> Value {
        let parts: Vec<Value> = text.map(|text| part(kind, text)).into_iter().collect();
        match kind {
            Kind::Message => json!({
                "id": self.id(kind), "type": "message", "role": "assistant", "status": status, "content": parts,
            }),
            Kind::Reasoning => json!({"id": self.id(kind), "type": "reasoning", "summary": parts}),
        }
    }

    /// With the place of the item that is being written.
    fn with_output_index(&self, kind: Kind, mut event: Value) -> Value {
        let index = if kind == Kind::Message {
            "content_index"
        } else {
            "summary_index"
        };
        if let Some(fields) = event.as_object_mut() {
            fields.insert("item_id".into(), self.id(kind).into());
            fields.insert("output_index".into(), self.done.len().into());
            fields.insert(index.into(), 0.into());
        }
        event
    }
}

fn part(kind: Kind, text: &str) -> Value {
    match kind {
        Kind::Message => {
            json!({"type": "output_text", "text": text, "annotations": [], "logprobs": []})
        }
        Kind::Reasoning => json!({"type": "summary_text", "text": text}),
    }
}

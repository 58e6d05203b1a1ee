//! Reads an answer: collects its blocks in order and turns deltas into chunks.

use std::sync::Arc;

use rooftree_protocol::{
    CallId, ToolCall,
    event::{ReplyPart, StopReason},
};
use serde_json::{Map, Value, json};

use super::{
    events::{Delta, StreamEvent, Tokens},
    refuse,
};
use crate::{
    Chunk, Error, Reply,
    http::{
        exchange::{Decoder, Progress},
        refusal::Refusal,
    },
    sse,
};

/// An answer being read.
pub(super) struct Answer {
    provider: Arc<str>,
    dropped: Vec<String>,
    id: Option<String>,
    /// By the wire's number for them, in the order they began.
    blocks: Vec<(u64, Block)>,
    tokens: Tokens,
    stop: Option<String>,
    explanation: Option<String>,
    is_over: bool,
}

enum Block {
    Text { text: String, citations: Vec<Value> },
    Thinking { text: String, signature: String },
    Call { number: usize, id: String, tool: String, begun: Value, json: String },
    Kept { item: Map<String, Value>, json: String },
}

impl Answer {
    pub(super) fn new(provider: Arc<str>, dropped: Vec<String>) -> Self {
        Self {
            provider,
            dropped,
            id: None,
            blocks: Vec::new(),
            tokens: Tokens::default(),
            stop: None,
            explanation: None,
            is_over: false,
        }
    }

    fn begin(&mut self, index: u64, item: Value) -> Vec<Chunk> {
        let text = |name: &str| item.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let (block, chunk) = match item.get("type").and_then(Value::as_str) {
            Some("text") => {
                let citations = item.get("citations").and_then(Value::as_array).cloned().unwrap_or_default();
                (Block::Text { text: text("text"), citations }, said(text("text"), Chunk::Text))
            }
            Some("thinking") => (
                Block::Thinking { text: text("thinking"), signature: text("signature") },
                said(text("thinking"), Chunk::Thinking),
            ),
            Some("tool_use") => {
                let number =
                    self.blocks.iter().filter(|(_, block)| matches!(block, Block::Call { .. })).count();
                let chunk = Chunk::ToolInput { index: number, tool: text("name"), text: String::new() };
                let begun = item.get("input").cloned().unwrap_or_default();
                let (id, tool) = (text("id"), text("name"));
                (Block::Call { number, id, tool, begun, json: String::new() }, Some(chunk))
            }
            _ => {
                let Value::Object(item) = item else { return Vec::new() };
                (Block::Kept { item, json: String::new() }, None)
            }
        };
        self.blocks.push((index, block));
        chunk.into_iter().collect()
    }

    fn grow(&mut self, index: u64, delta: Delta) -> Result<Vec<Chunk>, Error> {
        let found = self.blocks.iter_mut().rev().find(|(number, _)| *number == index);
        let Some((_, block)) = found else {
            return Err(Error::Broken("a part of the answer has no beginning".into()));
        };
        let chunk = match (block, delta) {
            (Block::Text { text, .. }, Delta::Text { text: more }) => {
                text.push_str(&more);
                said(more, Chunk::Text)
            }
            (Block::Text { citations, .. }, Delta::Citations { citation }) => {
                citations.push(citation);
                None
            }
            (Block::Thinking { text, .. }, Delta::Thinking { thinking }) => {
                text.push_str(&thinking);
                said(thinking, Chunk::Thinking)
            }
            (Block::Thinking { signature, .. }, Delta::Signature { signature: whole }) => {
                *signature = whole;
                None
            }
            (Block::Call { number, json, .. }, Delta::InputJson { partial_json }) => {
                json.push_str(&partial_json);
                let index = *number;
                said(partial_json, |text| Chunk::ToolInput { index, tool: String::new(), text })
            }
            (Block::Kept { json, .. }, Delta::InputJson { partial_json }) => {
                json.push_str(&partial_json);
                None
            }
            (Block::Kept { item, .. }, delta) => {
                merge(item, delta.into_fields());
                None
            }
            _ => None,
        };
        Ok(chunk.into_iter().collect())
    }

    /// The vendor's last word has come. A refusal of everything is an error: there is nothing to keep.
    fn close(&mut self) -> Result<Progress, Error> {
        self.is_over = true;
        if self.stop.as_deref() == Some("refusal") && self.blocks.is_empty() {
            let why = self.explanation.take().unwrap_or_else(|| "the model declines to answer".into());
            return Err(Error::Refused(why));
        }
        Ok(Progress::End)
    }

    fn stop_reason(&self, parts: &[ReplyPart]) -> StopReason {
        match self.stop.as_deref() {
            Some("refusal") => StopReason::Refused,
            // Each means that the model is not done and may go on where it was.
            Some("max_tokens" | "model_context_window_exceeded" | "pause_turn") => StopReason::MaxOutput,
            _ if parts.iter().any(|part| matches!(part, ReplyPart::Call(_))) => StopReason::Calls,
            _ => StopReason::End,
        }
    }
}

impl Decoder for Answer {
    fn take(&mut self, event: &sse::Event) -> Result<Progress, Error> {
        // Not of this wire, but servers that speak several send it on all of them.
        if event.data == "[DONE]" {
            return Ok(Progress::Ping);
        }
        let event = serde_json::from_str(&event.data)
            .map_err(|error| Error::Broken(format!("an event of the answer cannot be read: {error}")))?;
        match event {
            StreamEvent::MessageStart { message } => {
                self.id = message.id;
                self.tokens.update(message.usage);
            }
            StreamEvent::ContentBlockStart { index, content_block } => {
                return Ok(Progress::Chunks(self.begin(index, content_block)));
            }
            StreamEvent::ContentBlockDelta { index, delta } => {
                return self.grow(index, delta).map(Progress::Chunks);
            }
            StreamEvent::MessageDelta { delta, usage } => {
                self.tokens.update(usage);
                self.stop = delta.stop_reason.or(self.stop.take());
                self.explanation = delta.stop_details.and_then(|details| details.explanation);
            }
            StreamEvent::MessageStop => return self.close(),
            StreamEvent::Ping => return Ok(Progress::Ping),
            StreamEvent::Error { error } => return Err(refuse::in_stream(&error)),
            StreamEvent::Unknown => {}
        }
        Ok(Progress::Chunks(Vec::new()))
    }

    fn finish(&mut self) -> Option<Reply> {
        if !self.is_over {
            return None;
        }
        let blocks = std::mem::take(&mut self.blocks);
        let parts: Vec<ReplyPart> =
            blocks.into_iter().flat_map(|(_, block)| block.parts(&self.provider)).collect();
        Some(Reply {
            stop: self.stop_reason(&parts),
            parts,
            usage: self.tokens.usage(),
            request: self.id.take(),
            dropped: std::mem::take(&mut self.dropped),
        })
    }

    fn refuse(&self, refusal: &Refusal) -> Error {
        refuse::class(refusal)
    }
}

impl Block {
    fn parts(self, provider: &str) -> Vec<ReplyPart> {
        let kept = |item| ReplyPart::Opaque { provider: provider.to_owned(), item };
        match self {
            Self::Text { text, .. } if text.is_empty() => Vec::new(),
            Self::Text { text, citations } if citations.is_empty() => vec![ReplyPart::Text { text }],
            Self::Text { text, citations } => {
                vec![kept(json!({ "citations": citations })), ReplyPart::Text { text }]
            }
            Self::Thinking { text, signature } => {
                let signature = (!signature.is_empty()).then_some(signature);
                vec![ReplyPart::Thinking { text, signature }]
            }
            Self::Call { number, id, tool, begun, json } => {
                let id = CallId::parse(&id).unwrap_or_else(|_| CallId::from_entropy(number as u128));
                vec![ReplyPart::Call(ToolCall { id, tool, input: input(&json, begun) })]
            }
            Self::Kept { mut item, json } => {
                if !json.is_empty() {
                    item.insert("input".into(), input(&json, Value::Null));
                }
                vec![kept(Value::Object(item))]
            }
        }
    }
}

/// The arguments of a call. What is no JSON stays the text it is: the tool says what is wrong with it.
fn input(json: &str, begun: Value) -> Value {
    match (json.trim().is_empty(), begun) {
        (true, Value::Object(begun)) => Value::Object(begun),
        (true, _) => Value::Object(Map::new()),
        (false, _) => serde_json::from_str(json).unwrap_or_else(|_| Value::String(json.to_owned())),
    }
}

/// Lets an item nobody here knows grow by a delta: texts are joined, anything else is replaced.
fn merge(item: &mut Map<String, Value>, more: Map<String, Value>) {
    for (name, value) in more.into_iter().filter(|(name, _)| name != "type") {
        match (item.get_mut(&name), value) {
            (Some(Value::String(text)), Value::String(more)) => text.push_str(&more),
            (_, value) => {
                item.insert(name, value);
            }
        }
    }
}

fn said(text: String, chunk: impl FnOnce(String) -> Chunk) -> Option<Chunk> {
    (!text.is_empty()).then(|| chunk(text))
}

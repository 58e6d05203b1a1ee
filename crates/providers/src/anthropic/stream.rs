//! Decodes a streamed answer of Anthropic: collects its blocks in order and turns deltas into chunks.

use std::sync::Arc;

use rooftree_protocol::{
    CallId, ToolCall,
    event::{ReplyPart, StopReason},
};
use serde_json::{Map, Value, json};

use super::{
    errors,
    events::{AnthropicDelta, AnthropicEvent, AnthropicUsage},
};
use crate::{
    Error, ModelReply, ReplyChunk,
    http::{
        error_response::ErrorResponse,
        event_stream::{DecodeProgress, EventDecoder},
    },
    sse,
};

/// Decoder of one answer.
pub(super) struct AnthropicStream {
    provider: Arc<str>,
    dropped: Vec<String>,
    id: Option<String>,
    /// Blocks with their index in the stream, in the order they began.
    blocks: Vec<(u64, AnthropicReplyBlock)>,
    tokens: AnthropicUsage,
    stop: Option<String>,
    explanation: Option<String>,
    is_over: bool,
}

enum AnthropicReplyBlock {
    Text {
        text: String,
        citations: Vec<Value>,
    },
    Thinking {
        text: String,
        signature: String,
    },
    Call {
        number: usize,
        id: String,
        tool: String,
        begun: Value,
        json: String,
    },
    Kept {
        item: Map<String, Value>,
        json: String,
    },
}

impl AnthropicStream {
    pub(super) fn new(provider: Arc<str>, dropped: Vec<String>) -> Self {
        Self {
            provider,
            dropped,
            id: None,
            blocks: Vec::new(),
            tokens: AnthropicUsage::default(),
            stop: None,
            explanation: None,
            is_over: false,
        }
    }

    fn begin(&mut self, index: u64, item: Value) -> Vec<ReplyChunk> {
        let text = |name: &str| {
            item.get(name)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        let (block, chunk) = match item.get("type").and_then(Value::as_str) {
            Some("text") => {
                let citations = item
                    .get("citations")
                    .and_then(Value::as_array)
                    .cloned()
                    .unwrap_or_default();
                (
                    AnthropicReplyBlock::Text {
                        text: text("text"),
                        citations,
                    },
                    said(text("text"), ReplyChunk::Text),
                )
            }
            Some("thinking") => (
                AnthropicReplyBlock::Thinking {
                    text: text("thinking"),
                    signature: text("signature"),
                },
                said(text("thinking"), ReplyChunk::Thinking),
            ),
            Some("tool_use") => {
                let number = self
                    .blocks
                    .iter()
                    .filter(|(_, block)| matches!(block, AnthropicReplyBlock::Call { .. }))
                    .count();
                let chunk = ReplyChunk::ToolInput {
                    index: number,
                    tool: text("name"),
                    text: String::new(),
                };
                let begun = item.get("input").cloned().unwrap_or_default();
                let (id, tool) = (text("id"), text("name"));
                (
                    AnthropicReplyBlock::Call {
                        number,
                        id,
                        tool,
                        begun,
                        json: String::new(),
                    },
                    Some(chunk),
                )
            }
            _ => {
                let Value::Object(item) = item else {
                    return Vec::new();
                };
                (
                    AnthropicReplyBlock::Kept {
                        item,
                        json: String::new(),
                    },
                    None,
                )
            }
        };
        self.blocks.push((index, block));
        chunk.into_iter().collect()
    }

    fn grow(&mut self, index: u64, delta: AnthropicDelta) -> Result<Vec<ReplyChunk>, Error> {
        let found = self
            .blocks
            .iter_mut()
            .rev()
            .find(|(number, _)| *number == index);
        let Some((_, block)) = found else {
            return Err(Error::Broken(
                "a part of the answer has no beginning".into(),
            ));
        };
        let chunk = match (block, delta) {
            (AnthropicReplyBlock::Text { text, .. }, AnthropicDelta::Text { text: more }) => {
                text.push_str(&more);
                said(more, ReplyChunk::Text)
            }
            (
                AnthropicReplyBlock::Text { citations, .. },
                AnthropicDelta::Citations { citation },
            ) => {
                citations.push(citation);
                None
            }
            (AnthropicReplyBlock::Thinking { text, .. }, AnthropicDelta::Thinking { thinking }) => {
                text.push_str(&thinking);
                said(thinking, ReplyChunk::Thinking)
            }
            (
                AnthropicReplyBlock::Thinking { signature, .. },
                AnthropicDelta::Signature { signature: whole },
            ) => {
                *signature = whole;
                None
            }
            (
                AnthropicReplyBlock::Call { number, json, .. },
                AnthropicDelta::InputJson { partial_json },
            ) => {
                json.push_str(&partial_json);
                let index = *number;
                said(partial_json, |text| ReplyChunk::ToolInput {
                    index,
                    tool: String::new(),
                    text,
                })
            }
            (
                AnthropicReplyBlock::Kept { json, .. },
                AnthropicDelta::InputJson { partial_json },
            ) => {
                json.push_str(&partial_json);
                None
            }
            (AnthropicReplyBlock::Kept { item, .. }, delta) => {
                merge(item, delta.into_fields());
                None
            }
            _ => None,
        };
        Ok(chunk.into_iter().collect())
    }

    /// Handles the final event. A refusal without content is an error: there is nothing to keep.
    fn close(&mut self) -> Result<DecodeProgress, Error> {
        self.is_over = true;
        if self.stop.as_deref() == Some("refusal") && self.blocks.is_empty() {
            let why = self
                .explanation
                .take()
                .unwrap_or_else(|| "the model declines to answer".into());
            return Err(Error::Refused(why));
        }
        Ok(DecodeProgress::End)
    }

    fn stop_reason(&self, parts: &[ReplyPart]) -> StopReason {
        match self.stop.as_deref() {
            Some("refusal") => StopReason::Refused,
            // Each means that the model is not done and can be continued.
            Some("max_tokens" | "model_context_window_exceeded" | "pause_turn") => {
                StopReason::MaxOutput
            }
            _ if parts.iter().any(|part| matches!(part, ReplyPart::Call(_))) => StopReason::Calls,
            _ => StopReason::End,
        }
    }
}

impl EventDecoder for AnthropicStream {
    fn take(&mut self, event: &sse::SseEvent) -> Result<DecodeProgress, Error> {
        // Not part of this API, but servers that implement several APIs send it on all of them.
        if event.data == "[DONE]" {
            return Ok(DecodeProgress::Ping);
        }
        let event = serde_json::from_str(&event.data).map_err(|error| {
            Error::Broken(format!("an event of the answer cannot be read: {error}"))
        })?;
        match event {
            AnthropicEvent::MessageStart { message } => {
                self.id = message.id;
                self.tokens.update(message.usage);
            }
            AnthropicEvent::ContentBlockStart {
                index,
                content_block,
            } => {
                return Ok(DecodeProgress::Chunks(self.begin(index, content_block)));
            }
            AnthropicEvent::ContentBlockDelta { index, delta } => {
                return self.grow(index, delta).map(DecodeProgress::Chunks);
            }
            AnthropicEvent::MessageDelta { delta, usage } => {
                self.tokens.update(usage);
                self.stop = delta.stop_reason.or(self.stop.take());
                self.explanation = delta.stop_details.and_then(|details| details.explanation);
            }
            AnthropicEvent::MessageStop => return self.close(),
            AnthropicEvent::Ping => return Ok(DecodeProgress::Ping),
            AnthropicEvent::Error { error } => return Err(errors::classify_in_stream(&error)),
            AnthropicEvent::Unknown => {}
        }
        Ok(DecodeProgress::Chunks(Vec::new()))
    }

    fn finish(&mut self) -> Option<ModelReply> {
        if !self.is_over {
            return None;
        }
        let blocks = std::mem::take(&mut self.blocks);
        let parts: Vec<ReplyPart> = blocks
            .into_iter()
            .flat_map(|(_, block)| block.parts(&self.provider))
            .collect();
        Some(ModelReply {
            stop: self.stop_reason(&parts),
            parts,
            usage: self.tokens.usage(),
            request: self.id.take(),
            dropped: std::mem::take(&mut self.dropped),
        })
    }

    fn classify_error(&self, refusal: &ErrorResponse) -> Error {
        errors::classify_response(refusal)
    }
}

impl AnthropicReplyBlock {
    fn parts(self, provider: &str) -> Vec<ReplyPart> {
        let kept = |item| ReplyPart::Opaque {
            provider: provider.to_owned(),
            item,
        };
        match self {
            Self::Text { text, .. } if text.is_empty() => Vec::new(),
            Self::Text { text, citations } if citations.is_empty() => {
                vec![ReplyPart::Text { text }]
            }
            Self::Text { text, citations } => {
                vec![
                    kept(json!({ "citations": citations })),
                    ReplyPart::Text { text },
                ]
            }
            Self::Thinking { text, signature } => {
                let signature = (!signature.is_empty()).then_some(signature);
                vec![ReplyPart::Thinking { text, signature }]
            }
            Self::Call {
                number,
                id,
                tool,
                begun,
                json,
            } => {
                let id =
                    CallId::parse(&id).unwrap_or_else(|_| CallId::from_entropy(number as u128));
                vec![ReplyPart::Call(ToolCall {
                    id,
                    tool,
                    input: input(&json, begun),
                })]
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

/// Parses the arguments of a call. Invalid JSON stays text: the tool reports what is wrong with it.
fn input(json: &str, begun: Value) -> Value {
    match (json.trim().is_empty(), begun) {
        (true, Value::Object(begun)) => Value::Object(begun),
        (true, _) => Value::Object(Map::new()),
        (false, _) => serde_json::from_str(json).unwrap_or_else(|_| Value::String(json.to_owned())),
    }
}

/// Merges a delta into an item of unknown type: strings are appended, anything else is replaced.
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

fn said(text: String, chunk: impl FnOnce(String) -> ReplyChunk) -> Option<ReplyChunk> {
    (!text.is_empty()).then(|| chunk(text))
}

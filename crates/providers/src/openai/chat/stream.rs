//! Folds the streamed chunks of one answer into a whole reply. Pure.
//!
//! Parts keep the order in which they began. Calls are distinguished by index, and where a server sends
//! none or repeats one, by a new id.

use rooftree_protocol::{
    CallId, ToolCall, Usage,
    event::{ReplyPart, StopReason},
};
use serde_json::{Map, Value};

use super::events::{
    ChatCallDelta, ChatChoice, ChatDelta, ChatDeltaContent, ChatDeltaPart, ChatEvent as Event,
};
use crate::{
    Error, ModelReply, ReplyChunk,
    openai::{errors::OpenAiError, request::input},
};

/// An answer as received so far.
#[derive(Debug, Default)]
pub(super) struct ChatReplyBuilder {
    parts: Vec<ChatOpenPart>,
    calls: Vec<ChatOpenCall>,
    details: Vec<Value>,
    finish: Option<String>,
    refused: bool,
    usage: Option<Usage>,
    id: Option<String>,
}

/// A part that has begun.
#[derive(Debug)]
enum ChatOpenPart {
    Thinking(String),
    Text(String),
    /// The call with this position.
    Call(usize),
    /// All reasoning details.
    Details,
}

#[derive(Debug, Default)]
struct ChatOpenCall {
    index: Option<usize>,
    id: String,
    tool: String,
    arguments: String,
}

impl ChatReplyBuilder {
    /// Folds one chunk in; returns the deltas to show. None if it brought nothing at all.
    pub(super) fn take(&mut self, mut event: Event) -> Result<Option<Vec<ReplyChunk>>, Error> {
        if let Some(error) = event.failure() {
            return Err(OpenAiError::from_stream(error).error());
        }
        let tokens = event.tokens();
        let mut brought = tokens.is_some();
        self.usage = tokens.map(Usage::from).or(self.usage);
        self.id = self.id.take().or(event.id);
        let mut chunks = Vec::new();
        for choice in event.choices.into_iter().flatten().take(1) {
            brought |= self.take_choice(choice, &mut chunks)?;
        }
        Ok((brought || !chunks.is_empty()).then_some(chunks))
    }

    fn take_choice(
        &mut self,
        choice: ChatChoice,
        chunks: &mut Vec<ReplyChunk>,
    ) -> Result<bool, Error> {
        if let Some(delta) = choice.delta {
            self.take_delta(delta, chunks);
        }
        match choice.finish_reason.as_deref() {
            Some("error") => {
                return Err(Error::Broken("the provider broke off with an error".into()));
            }
            Some("insufficient_system_resource") => {
                return Err(Error::Overloaded { retry_after: None });
            }
            _ => {}
        }
        let finished = choice.finish_reason.is_some();
        self.finish = choice.finish_reason.or(self.finish.take());
        Ok(finished)
    }

    fn take_delta(&mut self, mut delta: ChatDelta, chunks: &mut Vec<ReplyChunk>) {
        let thinking = delta.thinking();
        let details = delta.reasoning_details.take().unwrap_or_default();
        let told = thinking.or_else(|| detailed(&details));
        if let Some(text) = told {
            self.think(text, chunks);
        }
        for detail in details {
            self.take_detail(detail);
        }
        match delta.content {
            Some(ChatDeltaContent::Words(text)) => self.say(text, chunks),
            Some(ChatDeltaContent::Pieces(pieces)) => self.take_pieces(pieces, chunks),
            Some(ChatDeltaContent::Other(_)) | None => {}
        }
        if let Some(text) = delta.refusal {
            self.refused |= !text.is_empty();
            self.say(text, chunks);
        }
        for call in delta.tool_calls.into_iter().flatten() {
            self.take_call(call, chunks);
        }
    }

    fn take_pieces(&mut self, pieces: Vec<ChatDeltaPart>, chunks: &mut Vec<ReplyChunk>) {
        for piece in pieces {
            match piece {
                ChatDeltaPart::Text { text } => self.say(text, chunks),
                ChatDeltaPart::Thinking { thinking } => {
                    for thought in thinking {
                        if let ChatDeltaPart::Text { text } = thought {
                            self.think(text, chunks);
                        }
                    }
                }
                ChatDeltaPart::Other => {}
            }
        }
    }

    fn say(&mut self, more: String, chunks: &mut Vec<ReplyChunk>) {
        if more.is_empty() {
            return;
        }
        match self.parts.last_mut() {
            Some(ChatOpenPart::Text(text)) => text.push_str(&more),
            _ => self.parts.push(ChatOpenPart::Text(more.clone())),
        }
        chunks.push(ReplyChunk::Text(more));
    }

    fn think(&mut self, more: String, chunks: &mut Vec<ReplyChunk>) {
        if more.is_empty() {
            return;
        }
        let last = self
            .parts
            .iter_mut()
            .rfind(|part| !matches!(part, ChatOpenPart::Details));
        match last {
            Some(ChatOpenPart::Thinking(text)) => text.push_str(&more),
            _ => self.parts.push(ChatOpenPart::Thinking(more.clone())),
        }
        chunks.push(ReplyChunk::Thinking(more));
    }

    /// Merges details of the same kind and index.
    fn take_detail(&mut self, detail: Value) {
        let Value::Object(fields) = detail else {
            return;
        };
        if self.details.is_empty() {
            self.parts.push(ChatOpenPart::Details);
        }
        let same = |known: &Value| {
            ["type", "index"]
                .iter()
                .all(|key| known.get(*key) == fields.get(*key))
                && fields
                    .get("id")
                    .is_none_or(|id| id.is_null() || known.get("id") == Some(id))
        };
        match self.details.iter_mut().rfind(|known| same(known)) {
            Some(Value::Object(known)) => grow(known, fields),
            _ => self.details.push(Value::Object(fields)),
        }
    }

    fn take_call(&mut self, delta: ChatCallDelta, chunks: &mut Vec<ReplyChunk>) {
        let function = delta.function.unwrap_or_default();
        let id = delta.id.unwrap_or_default();
        let tool = function.name.unwrap_or_default();
        let place = self.place_of(delta.index, &id, &tool);
        let text = match function.arguments {
            Some(Value::String(text)) => text,
            Some(Value::Null) | None => String::new(),
            Some(whole) => whole.to_string(),
        };
        let Some(call) = self.calls.get_mut(place) else {
            return;
        };
        let first = call.tool.is_empty();
        if first {
            call.tool.clone_from(&tool);
        }
        call.arguments.push_str(&text);
        let tool = if first { tool } else { String::new() };
        if !tool.is_empty() || !text.is_empty() {
            chunks.push(ReplyChunk::ToolInput {
                index: place,
                tool,
                text,
            });
        }
    }

    /// Finds the call a piece belongs to; begins a new one if there is none.
    fn place_of(&mut self, index: Option<usize>, id: &str, tool: &str) -> usize {
        let known = match index {
            Some(_) => self.calls.iter().rposition(|call| call.index == index),
            None if id.is_empty() && tool.is_empty() => self.calls.len().checked_sub(1),
            None => self
                .calls
                .iter()
                .rposition(|call| !id.is_empty() && call.id == id && tool.is_empty()),
        };
        // Another id with another name under the same index is another call.
        let known = known.filter(|place| {
            let same_id = self.calls.get(*place).is_some_and(|call| call.id == id);
            id.is_empty() || tool.is_empty() || same_id
        });
        known.unwrap_or_else(|| {
            self.parts.push(ChatOpenPart::Call(self.calls.len()));
            self.calls.push(ChatOpenCall {
                index,
                id: id.to_owned(),
                ..ChatOpenCall::default()
            });
            self.calls.len() - 1
        })
    }

    /// Whether a finish reason has come.
    pub(super) fn is_finished(&self) -> bool {
        self.finish.is_some()
    }

    /// The whole reply, if it is complete: with a finish reason, or the end marker of the stream.
    pub(super) fn finish(&mut self, provider: &str, marked: bool) -> Option<ModelReply> {
        let over = self.finish.is_some() || (marked && !self.parts.is_empty());
        if !over {
            return None;
        }
        let stop = self.stop();
        let parts = std::mem::take(&mut self.parts);
        let parts = parts
            .into_iter()
            .map(|part| self.part(provider, part))
            .collect();
        let usage = self.usage.unwrap_or_default();
        Some(ModelReply {
            parts,
            stop,
            usage,
            request: self.id.take(),
            dropped: Vec::new(),
        })
    }

    fn stop(&self) -> StopReason {
        match self.finish.as_deref() {
            Some("length" | "model_length" | "max_tokens") => StopReason::MaxOutput,
            Some("content_filter") => StopReason::Refused,
            _ if !self.calls.is_empty() => StopReason::Calls,
            _ if self.refused => StopReason::Refused,
            _ => StopReason::End,
        }
    }

    fn part(&mut self, provider: &str, part: ChatOpenPart) -> ReplyPart {
        match part {
            ChatOpenPart::Thinking(text) => ReplyPart::Thinking {
                text,
                signature: None,
            },
            ChatOpenPart::Text(text) => ReplyPart::Text { text },
            ChatOpenPart::Call(place) => {
                let call = self
                    .calls
                    .get_mut(place)
                    .map(std::mem::take)
                    .unwrap_or_default();
                let id = CallId::from_entropy(place as u128);
                ReplyPart::Call(ToolCall {
                    id,
                    tool: call.tool,
                    input: input(&call.arguments),
                })
            }
            ChatOpenPart::Details => {
                let details = Value::Array(std::mem::take(&mut self.details));
                let item =
                    Value::Object(Map::from_iter([("reasoning_details".to_owned(), details)]));
                ReplyPart::Opaque {
                    provider: provider.to_owned(),
                    item,
                }
            }
        }
    }
}

/// The readable text of reasoning details.
fn detailed(details: &[Value]) -> Option<String> {
    let texts = details
        .iter()
        .filter_map(|detail| detail.get("text").or(detail.get("summary"))?.as_str());
    Some(texts.collect::<String>()).filter(|text| !text.is_empty())
}

/// Appends the texts of a detail to the one it continues; its other fields replace the earlier ones.
fn grow(known: &mut Map<String, Value>, more: Map<String, Value>) {
    for (key, value) in more {
        match (known.get_mut(&key), value) {
            (_, Value::Null) => {}
            (Some(Value::String(text)), Value::String(more))
                if ["text", "summary", "data"].contains(&key.as_str()) =>
            {
                text.push_str(&more);
            }
            (_, value) => {
                known.insert(key, value);
            }
        }
    }
}

//! Folds the streamed events of one answer into a whole reply. Pure.
//!
//! Deltas are only shown; what counts are the items, which come whole when they are done. An item
//! of unknown type is kept as opaque and sent back in its place.

use rooftree_protocol::{
    CallId, ToolCall, Usage,
    event::{ReplyPart, StopReason},
};
use serde_json::{Map, Value, json};

use super::events::{
    ResponseObject, ResponsesEvent, ResponsesItemRef, ResponsesOutputContent, ResponsesOutputItem,
};
use crate::{
    Error, ModelReply, ReplyChunk,
    openai::{errors::OpenAiError, request::input},
};

/// An answer as received so far.
#[derive(Debug, Default)]
pub(super) struct ResponsesReplyBuilder {
    slots: Vec<ResponsesOpenItem>,
    calls: usize,
    id: Option<String>,
    last: Option<ResponseObject>,
}

/// An item that has begun.
#[derive(Debug)]
struct ResponsesOpenItem {
    index: Option<u64>,
    id: Option<String>,
    /// Index of the call, from zero.
    call: Option<usize>,
    done: Option<Value>,
}

/// The result of an event.
#[derive(Debug, PartialEq)]
pub(super) enum ResponsesProgress {
    Nothing,
    Chunks(Vec<ReplyChunk>),
    Over,
}

impl ResponsesReplyBuilder {
    /// Folds one event in.
    pub(super) fn take(&mut self, event: ResponsesEvent) -> Result<ResponsesProgress, Error> {
        let chunks = match event {
            ResponsesEvent::Begun { response } => {
                self.id = self.id.take().or_else(|| response?.id);
                Vec::new()
            }
            ResponsesEvent::ItemBegun { place, item } => self.begin(&place, &item),
            ResponsesEvent::ItemDone { place, item } => self.done(&place, item),
            ResponsesEvent::Text { delta } => vec![ReplyChunk::Text(delta)],
            ResponsesEvent::Thinking { delta } => vec![ReplyChunk::Thinking(delta)],
            ResponsesEvent::ThinkingPart { summary_index: 0 } => Vec::new(),
            ResponsesEvent::ThinkingPart { .. } => vec![ReplyChunk::Thinking("\n\n".to_owned())],
            ResponsesEvent::Arguments { place, delta } => self.arguments(&place, delta),
            ResponsesEvent::Over { response } => {
                // Some servers report a failure in the event that should mean success.
                if response.status.as_deref() == Some("failed") {
                    return Err(failed(response));
                }
                self.last = Some(response);
                return Ok(ResponsesProgress::Over);
            }
            ResponsesEvent::Failed { response } => return Err(failed(response)),
            ResponsesEvent::Error { fields } => return Err(told(fields)),
            ResponsesEvent::Ping => return Ok(ResponsesProgress::Nothing),
            ResponsesEvent::Unknown => Vec::new(),
        };
        Ok(ResponsesProgress::Chunks(chunks))
    }

    fn begin(&mut self, place: &ResponsesItemRef, item: &Value) -> Vec<ReplyChunk> {
        let id = item.get("id").and_then(Value::as_str).map(str::to_owned);
        let is_call = item.get("type").is_some_and(|kind| kind == "function_call");
        let call = is_call.then_some(self.calls);
        self.calls += usize::from(is_call);
        self.slots.push(ResponsesOpenItem {
            index: place.output_index,
            id,
            call,
            done: None,
        });
        let Some(index) = call else { return Vec::new() };
        let tool = item
            .get("name")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned();
        vec![ReplyChunk::ToolInput {
            index,
            tool,
            text: String::new(),
        }]
    }

    fn done(&mut self, place: &ResponsesItemRef, item: Value) -> Vec<ReplyChunk> {
        let id = item.get("id").and_then(Value::as_str).map(str::to_owned);
        let place = ResponsesItemRef {
            item_id: id.or(place.item_id.clone()),
            ..place.clone()
        };
        let known = self.find(&place).filter(|slot| slot.done.is_none());
        if let Some(slot) = known {
            slot.done = Some(item);
            return Vec::new();
        }
        // An item that never began is begun and done at once.
        let chunks = self.begin(&place, &item);
        if let Some(slot) = self.slots.last_mut() {
            slot.done = Some(item);
        }
        chunks
    }

    fn arguments(&mut self, place: &ResponsesItemRef, text: String) -> Vec<ReplyChunk> {
        let Some(index) = self.find(place).and_then(|slot| slot.call) else {
            return Vec::new();
        };
        vec![ReplyChunk::ToolInput {
            index,
            tool: String::new(),
            text,
        }]
    }

    /// Finds an item: by index, by id, else the one that began last.
    fn find(&mut self, place: &ResponsesItemRef) -> Option<&mut ResponsesOpenItem> {
        let by_index = self
            .slots
            .iter()
            .rposition(|slot| slot.index.is_some() && slot.index == place.output_index);
        let by_id = || {
            self.slots
                .iter()
                .rposition(|slot| slot.id.is_some() && slot.id == place.item_id)
        };
        let nameless = place.output_index.is_none() && place.item_id.is_none();
        let last = || self.slots.len().checked_sub(1).filter(|_| nameless);
        let at = by_index.or_else(by_id).or_else(last)?;
        self.slots.get_mut(at)
    }

    /// The whole reply, if the final event has come.
    pub(super) fn finish(&mut self, provider: &str) -> Option<ModelReply> {
        let last = self.last.take()?;
        let mut slots = std::mem::take(&mut self.slots);
        slots.sort_by_key(|slot| slot.index.unwrap_or_default());
        let mut items: Vec<Value> = slots.into_iter().filter_map(|slot| slot.done).collect();
        if items.is_empty() {
            items = last.output.unwrap_or_default();
        }
        let searches = items.iter().filter(|item| is_search(item)).count() as u64;
        let mut parts = ResponsesPartBuilder {
            provider,
            parts: Vec::new(),
            calls: 0,
            refused: false,
        };
        items.into_iter().for_each(|item| parts.take(item));
        let reason = last.incomplete_details.and_then(|details| details.reason);
        let stop = match (last.status.as_deref(), reason.as_deref()) {
            (_, Some("content_filter")) => StopReason::Refused,
            (Some("incomplete"), _) => StopReason::MaxOutput,
            _ if parts.calls > 0 => StopReason::Calls,
            _ if parts.refused => StopReason::Refused,
            _ => StopReason::End,
        };
        let usage = Usage {
            searches,
            ..last.usage.map(Usage::from).unwrap_or_default()
        };
        let request = last.id.or(self.id.take());
        Some(ModelReply {
            parts: parts.parts,
            stop,
            usage,
            request,
            dropped: Vec::new(),
        })
    }
}

/// Whether an item is a search that the vendor's servers made and charge for.
fn is_search(item: &Value) -> bool {
    item.get("type").and_then(Value::as_str) == Some("web_search_call")
}

/// Converts items into reply parts.
struct ResponsesPartBuilder<'a> {
    provider: &'a str,
    parts: Vec<ReplyPart>,
    calls: u128,
    refused: bool,
}

impl ResponsesPartBuilder<'_> {
    fn take(&mut self, item: Value) {
        match ResponsesOutputItem::deserialize_from(&item) {
            ResponsesOutputItem::Message { content, phase } => self.message(content, phase),
            ResponsesOutputItem::FunctionCall { name, arguments } => {
                let input = match arguments {
                    Some(Value::String(written)) => input(&written),
                    Some(Value::Null) | None => json!({}),
                    Some(whole) => whole,
                };
                let id = CallId::from_entropy(self.calls);
                self.calls += 1;
                self.parts.push(ReplyPart::Call(ToolCall {
                    id,
                    tool: name,
                    input,
                }));
            }
            ResponsesOutputItem::Reasoning { summary, content } => {
                let told = if summary.is_empty() {
                    content.unwrap_or_default()
                } else {
                    summary
                };
                let text = texts(told).join("\n\n");
                if !text.is_empty() {
                    self.parts.push(ReplyPart::Thinking {
                        text,
                        signature: None,
                    });
                }
                self.keep(item);
            }
            ResponsesOutputItem::Other => self.keep(item),
        }
    }

    fn message(&mut self, content: Vec<ResponsesOutputContent>, phase: Option<Value>) {
        self.refused |= content
            .iter()
            .any(|piece| matches!(piece, ResponsesOutputContent::Refusal { .. }));
        let text = texts(content).concat();
        if text.is_empty() {
            return;
        }
        if let Some(phase) = phase.filter(|phase| !phase.is_null()) {
            self.keep(json!({"type": "message", "phase": phase}));
        }
        self.parts.push(ReplyPart::Text { text });
    }

    fn keep(&mut self, item: Value) {
        self.parts.push(ReplyPart::Opaque {
            provider: self.provider.to_owned(),
            item,
        });
    }
}

impl ResponsesOutputItem {
    fn deserialize_from(item: &Value) -> Self {
        serde::Deserialize::deserialize(item).unwrap_or(Self::Other)
    }
}

fn texts(content: Vec<ResponsesOutputContent>) -> Vec<String> {
    let texts = content.into_iter().map(|piece| match piece {
        ResponsesOutputContent::OutputText { text } => text,
        ResponsesOutputContent::Refusal { refusal } => refusal,
        ResponsesOutputContent::Other => String::new(),
    });
    texts.filter(|text| !text.is_empty()).collect()
}

fn failed(response: ResponseObject) -> Error {
    OpenAiError::from_stream(response.error.unwrap_or_default()).error()
}

/// Parses an error event, whose fields are at the top or one level below.
fn told(mut fields: Map<String, Value>) -> Error {
    match fields.remove("error") {
        Some(inner @ Value::Object(_)) => OpenAiError::from_stream(inner).error(),
        _ => OpenAiError::from_stream(Value::Object(fields)).error(),
    }
}

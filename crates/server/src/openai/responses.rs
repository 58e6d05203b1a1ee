//! OpenAI's Responses format: the same requests and answers as Chat Completions, as a list of items.

mod items;
mod request;

use rooftree_protocol::Usage;
use serde_json::{Value, json};

use self::items::OutputItems;
use super::{
    api_format::{ApiFormat, ResponseEnd, ResponseMetadata, SseFrame, StreamEncoder, with},
    errors::ApiError,
};
use crate::answer_stream::AnswerPiece;

/// The wire.
pub(crate) const WIRE: ApiFormat = ApiFormat {
    read: request::read,
    whole,
    pieces: |metadata, _| Box::new(ResponsesStreamEncoder::new(metadata)),
};

/// A whole answer is what a stream of it ends with.
fn whole(metadata: ResponseMetadata, told: &[AnswerPiece], ending: &ResponseEnd) -> Value {
    let mut events = ResponsesStreamEncoder::new(metadata);
    for told in told {
        events.told(told);
    }
    events.items.close();
    events.ended(ending)
}

struct ResponsesStreamEncoder {
    metadata: ResponseMetadata,
    items: OutputItems,
    number: u64,
}

impl ResponsesStreamEncoder {
    fn new(metadata: ResponseMetadata) -> Self {
        let items = OutputItems::new(metadata.id(""));
        Self {
            metadata,
            items,
            number: 0,
        }
    }

    /// Numbers them as they are made.
    fn frames(&mut self, events: Vec<(&'static str, Value)>) -> Vec<SseFrame> {
        let number = |(name, event): (&'static str, Value)| {
            let event = with(
                with(event, "type", name.into()),
                "sequence_number",
                self.number.into(),
            );
            self.number += 1;
            SseFrame {
                name: Some(name.to_owned()),
                data: event.to_string(),
            }
        };
        events.into_iter().map(number).collect()
    }

    fn response(&self, status: &str) -> Value {
        json!({
            "id": self.metadata.id("resp_"), "object": "response", "created_at": self.metadata.seconds(),
            "status": status, "error": null, "incomplete_details": null, "instructions": null,
            "model": self.metadata.model, "output": self.items.done(), "parallel_tool_calls": false,
            "tool_choice": "auto", "tools": [], "metadata": {}, "usage": null,
        })
    }

    fn ended(&self, ending: &ResponseEnd) -> Value {
        let is_short = ending.status.is_truncated();
        let response = self.response(if is_short { "incomplete" } else { "completed" });
        let response = with(response, "usage", usage(&ending.usage));
        let response = with(
            response,
            "rooftree",
            self.metadata.extension(&ending.status),
        );
        let why = if is_short {
            json!({"reason": "max_output_tokens"})
        } else {
            Value::Null
        };
        with(response, "incomplete_details", why)
    }
}

impl StreamEncoder for ResponsesStreamEncoder {
    fn begin(&mut self) -> Vec<SseFrame> {
        let begun = || json!({"response": self.response("in_progress")});
        let events = vec![
            ("response.created", begun()),
            ("response.in_progress", begun()),
        ];
        self.frames(events)
    }

    fn told(&mut self, told: &AnswerPiece) -> Vec<SseFrame> {
        let events = self.items.take(told);
        self.frames(events)
    }

    fn end(&mut self, ending: &ResponseEnd) -> Vec<SseFrame> {
        let mut events = self.items.close();
        let is_short = ending.status.is_truncated();
        let name = if is_short {
            "response.incomplete"
        } else {
            "response.completed"
        };
        events.push((name, json!({"response": self.ended(ending)})));
        self.frames(events)
    }

    fn fail(&mut self, failure: &ApiError) -> Vec<SseFrame> {
        let mut events = self.items.close();
        let response = with(self.response("failed"), "error", failure.short_value());
        events.push(("response.failed", json!({"response": response})));
        self.frames(events)
    }
}

fn usage(usage: &Usage) -> Value {
    json!({
        "input_tokens": usage.input,
        "input_tokens_details": {"cached_tokens": usage.cache_read, "cache_write_tokens": usage.cache_write},
        "output_tokens": usage.output,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning},
        "total_tokens": usage.total(),
    })
}

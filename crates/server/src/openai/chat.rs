//! Writes responses in the Chat Completions format.

use rooftree_protocol::Usage;
use serde_json::{Value, json};

use super::{
    api_format::{
        ApiFormat, ResponseEnd, ResponseMetadata, ResponseStatus, SseFrame, StreamEncoder, with,
    },
    errors::ApiError,
    request::{self, ResponseMode},
};
use crate::answer_stream::AnswerPiece;

/// The wire.
pub(crate) const WIRE: ApiFormat = ApiFormat {
    read: request::read,
    whole,
    pieces: |metadata, mode| Box::new(ChatStreamEncoder { metadata, mode }),
};

fn whole(metadata: ResponseMetadata, told: &[AnswerPiece], ending: &ResponseEnd) -> Value {
    let (mut content, mut reasoning) = (String::new(), String::new());
    for told in told {
        match told {
            AnswerPiece::Text(text) => content.push_str(text),
            AnswerPiece::Deed(deed) => reasoning.push_str(deed),
        }
    }
    let mut message = json!({"role": "assistant", "content": content, "refusal": null});
    if !reasoning.is_empty() {
        message = with(message, "reasoning_content", reasoning.into());
    }
    let choice = json!({"index": 0, "message": message, "logprobs": null, "finish_reason": reason(&ending.status)});
    json!({
        "id": metadata.id("chatcmpl-"), "object": "chat.completion", "created": metadata.seconds(),
        "model": metadata.model, "choices": [choice], "usage": usage(&ending.usage),
        "rooftree": metadata.extension(&ending.status),
    })
}

struct ChatStreamEncoder {
    metadata: ResponseMetadata,
    mode: ResponseMode,
}

impl ChatStreamEncoder {
    fn chunk(&self, delta: Value, finish_reason: Value) -> Value {
        let choice =
            json!({"index": 0, "delta": delta, "logprobs": null, "finish_reason": finish_reason});
        json!({
            "id": self.metadata.id("chatcmpl-"), "object": "chat.completion.chunk",
            "created": self.metadata.seconds(), "model": self.metadata.model, "choices": [choice],
        })
    }
}

impl StreamEncoder for ChatStreamEncoder {
    fn begin(&mut self) -> Vec<SseFrame> {
        vec![frame(&self.chunk(
            json!({"role": "assistant", "content": ""}),
            Value::Null,
        ))]
    }

    fn told(&mut self, told: &AnswerPiece) -> Vec<SseFrame> {
        let delta = match told {
            AnswerPiece::Text(text) => json!({"content": text}),
            AnswerPiece::Deed(deed) => json!({"reasoning_content": deed}),
        };
        vec![frame(&self.chunk(delta, Value::Null))]
    }

    fn end(&mut self, ending: &ResponseEnd) -> Vec<SseFrame> {
        let last = self.chunk(json!({}), reason(&ending.status).into());
        let mut frames = vec![frame(&with(
            last,
            "rooftree",
            self.metadata.extension(&ending.status),
        ))];
        if self.mode == ResponseMode::PiecesAndUsage {
            let cost = with(self.chunk(json!({}), Value::Null), "choices", json!([]));
            frames.push(frame(&with(cost, "usage", usage(&ending.usage))));
        }
        frames.push(done());
        frames
    }

    fn fail(&mut self, failure: &ApiError) -> Vec<SseFrame> {
        vec![frame(&failure.body_value()), done()]
    }
}

fn frame(data: &Value) -> SseFrame {
    SseFrame {
        name: None,
        data: data.to_string(),
    }
}

/// What every stream ends with.
fn done() -> SseFrame {
    SseFrame {
        name: None,
        data: "[DONE]".into(),
    }
}

fn reason(status: &ResponseStatus) -> &'static str {
    if status.is_truncated() {
        "length"
    } else {
        "stop"
    }
}

fn usage(usage: &Usage) -> Value {
    json!({
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "total_tokens": usage.total(),
        "prompt_tokens_details": {"cached_tokens": usage.cache_read},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning},
    })
}

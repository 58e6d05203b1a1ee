//! Answers in the format of OpenAI's Responses.

use serde_json::{Value, json};

use super::{AnswerBlock, AnswerStop, ErrorAnswer, ServerWire, StreamedAnswer};

/// The response format.
pub const WIRE: ServerWire = ServerWire {
    frames,
    refusal,
    request_header: "x-request-id",
    ping: "event: keepalive\ndata: {\"type\":\"keepalive\",\"sequence_number\":0}\n\n",
};

/// The events of one answer, with sequence numbers.
#[derive(Default)]
struct ResponsesFrames {
    frames: Vec<String>,
    number: u64,
}

impl ResponsesFrames {
    fn push(&mut self, kind: &str, mut fields: Value) {
        if let Some(fields) = fields.as_object_mut() {
            fields.insert("type".into(), kind.into());
            fields.insert("sequence_number".into(), self.number.into());
        }
        self.number += 1;
        self.frames
            .push(format!("event: {kind}\ndata: {fields}\n\n"));
    }
}

fn frames(saying: &StreamedAnswer) -> Vec<String> {
    let mut events = ResponsesFrames::default();
    events.push(
        "response.created",
        json!({"response": response(saying, "in_progress", &[])}),
    );
    events.push(
        "response.in_progress",
        json!({"response": response(saying, "in_progress", &[])}),
    );
    let mut output = Vec::new();
    for block in &saying.blocks {
        if let AnswerBlock::Frame(text) = block {
            events.frames.push(text.clone());
            continue;
        }
        let index = output.len();
        let (begun, done) = items(block, index);
        events.push(
            "response.output_item.added",
            json!({"output_index": index, "item": begun}),
        );
        deltas(block, index, &mut events);
        events.push(
            "response.output_item.done",
            json!({"output_index": index, "item": done}),
        );
        output.push(done);
    }
    if let Some(failure) = &saying.failure {
        let mut failed = response(saying, "failed", &output);
        if let Some(fields) = failed.as_object_mut() {
            fields.insert(
                "error".into(),
                json!({"code": failure.code, "message": failure.message}),
            );
        }
        events.push("response.failed", json!({"response": failed}));
    } else if saying.ends {
        let status = if saying.stop == AnswerStop::End {
            "completed"
        } else {
            "incomplete"
        };
        let last = response(saying, status, &output);
        events.push(&format!("response.{status}"), json!({"response": last}));
    }
    events.frames
}

/// An item at its start and when it is done.
fn items(block: &AnswerBlock, index: usize) -> (Value, Value) {
    match block {
        AnswerBlock::Text(pieces) => {
            let item = |status: &str, content: Value| {
                json!({"id": format!("msg_{index}"), "type": "message", "role": "assistant",
                    "status": status, "content": content})
            };
            let text = json!([{"type": "output_text", "text": pieces.concat(), "annotations": []}]);
            (item("in_progress", json!([])), item("completed", text))
        }
        AnswerBlock::Thinking(pieces, signature) => {
            let item = |summary: Value, encrypted: Value| {
                json!({"id": format!("rs_{index}"), "type": "reasoning", "summary": summary,
                    "encrypted_content": encrypted})
            };
            let summary = json!([{"type": "summary_text", "text": pieces.concat()}]);
            (
                item(json!([]), Value::Null),
                item(summary, signature.clone().into()),
            )
        }
        AnswerBlock::Call {
            id,
            tool,
            json: pieces,
            ..
        } => {
            let item = |status: &str, arguments: &str| {
                json!({"id": format!("fc_{index}"), "type": "function_call", "status": status,
                    "call_id": id, "name": tool, "arguments": arguments})
            };
            (item("in_progress", ""), item("completed", &pieces.concat()))
        }
        AnswerBlock::Item(item) => (item.clone(), item.clone()),
        AnswerBlock::Frame(_) => (Value::Null, Value::Null),
    }
}

/// The events between an item's start and its end.
fn deltas(block: &AnswerBlock, index: usize, events: &mut ResponsesFrames) {
    match block {
        AnswerBlock::Text(pieces) => {
            let place = json!({"item_id": format!("msg_{index}"), "output_index": index, "content_index": 0});
            let part = |text: &str| json!({"type": "output_text", "text": text, "annotations": []});
            let whole = pieces.concat();
            events.push(
                "response.content_part.added",
                with(&place, &json!({"part": part("")})),
            );
            for piece in pieces {
                let fields = json!({"delta": piece, "logprobs": []});
                events.push("response.output_text.delta", with(&place, &fields));
            }
            events.push(
                "response.output_text.done",
                with(&place, &json!({"text": whole, "logprobs": []})),
            );
            events.push(
                "response.content_part.done",
                with(&place, &json!({"part": part(&whole)})),
            );
        }
        AnswerBlock::Thinking(pieces, _) => {
            let place = json!({"item_id": format!("rs_{index}"), "output_index": index, "summary_index": 0});
            let part = |text: &str| json!({"part": {"type": "summary_text", "text": text}});
            let (kind, whole) = ("response.reasoning_summary", pieces.concat());
            events.push(&format!("{kind}_part.added"), with(&place, &part("")));
            for piece in pieces {
                events.push(
                    &format!("{kind}_text.delta"),
                    with(&place, &json!({"delta": piece})),
                );
            }
            events.push(
                &format!("{kind}_text.done"),
                with(&place, &json!({"text": whole})),
            );
            events.push(&format!("{kind}_part.done"), with(&place, &part(&whole)));
        }
        AnswerBlock::Call {
            tool, json: pieces, ..
        } => {
            let place = json!({"item_id": format!("fc_{index}"), "output_index": index});
            let kind = "response.function_call_arguments";
            for piece in pieces {
                events.push(
                    &format!("{kind}.delta"),
                    with(&place, &json!({"delta": piece})),
                );
            }
            let whole = json!({"name": tool, "arguments": pieces.concat()});
            events.push(&format!("{kind}.done"), with(&place, &whole));
        }
        AnswerBlock::Item(_) | AnswerBlock::Frame(_) => {}
    }
}

/// Merges two objects.
fn with(place: &Value, fields: &Value) -> Value {
    let all = [place, fields]
        .into_iter()
        .filter_map(Value::as_object)
        .flatten();
    Value::Object(
        all.map(|(key, value)| (key.clone(), value.clone()))
            .collect(),
    )
}

fn response(saying: &StreamedAnswer, status: &str, output: &[Value]) -> Value {
    let usage = saying.usage;
    let reason = match (status, saying.stop) {
        ("incomplete", AnswerStop::Refused) => json!({"reason": "content_filter"}),
        ("incomplete", _) => json!({"reason": "max_output_tokens"}),
        _ => Value::Null,
    };
    let usage = json!({
        "input_tokens": usage.input,
        "input_tokens_details": {"cached_tokens": usage.cache_read, "cache_write_tokens": usage.cache_write},
        "output_tokens": usage.output,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning},
        "total_tokens": usage.input + usage.output,
    });
    let usage = if status == "in_progress" {
        Value::Null
    } else {
        usage
    };
    json!({
        "id": "resp_1", "object": "response", "created_at": 1_790_000_000, "status": status, "error": null,
        "incomplete_details": reason, "model": "gpt-test", "output": output, "parallel_tool_calls": true,
        "store": false, "tool_choice": "auto", "tools": [], "usage": usage,
    })
}

fn refusal(failure: &ErrorAnswer) -> String {
    let ErrorAnswer { code, message, .. } = failure;
    json!({"error": {"message": message, "type": "invalid_request_error", "param": null, "code": code}})
        .to_string()
}

//! Answers as OpenAI's Responses spell them.

use serde_json::{Value, json};

use super::{Block, Failure, Saying, Stop, Wire};

/// The wire.
pub const WIRE: Wire = Wire { frames, refusal, request_header: "x-request-id" };

/// The events of one answer, numbered as they are made.
#[derive(Default)]
struct Events {
    frames: Vec<String>,
    number: u64,
}

impl Events {
    fn push(&mut self, kind: &str, mut fields: Value) {
        if let Some(fields) = fields.as_object_mut() {
            fields.insert("type".into(), kind.into());
            fields.insert("sequence_number".into(), self.number.into());
        }
        self.number += 1;
        self.frames.push(format!("event: {kind}\ndata: {fields}\n\n"));
    }
}

fn frames(saying: &Saying) -> Vec<String> {
    let mut events = Events::default();
    events.push("response.created", json!({"response": response(saying, "in_progress", &[])}));
    events.push("response.in_progress", json!({"response": response(saying, "in_progress", &[])}));
    let mut output = Vec::new();
    for block in &saying.blocks {
        if let Block::Frame(text) = block {
            events.frames.push(text.clone());
            continue;
        }
        let index = output.len();
        let (begun, done) = items(block, index);
        events.push("response.output_item.added", json!({"output_index": index, "item": begun}));
        deltas(block, index, &mut events);
        events.push("response.output_item.done", json!({"output_index": index, "item": done}));
        output.push(done);
    }
    if let Some(failure) = &saying.failure {
        let mut failed = response(saying, "failed", &output);
        if let Some(fields) = failed.as_object_mut() {
            fields.insert("error".into(), json!({"code": failure.code, "message": failure.message}));
        }
        events.push("response.failed", json!({"response": failed}));
    } else if saying.ends {
        let status = if saying.stop == Stop::End { "completed" } else { "incomplete" };
        let last = response(saying, status, &output);
        events.push(&format!("response.{status}"), json!({"response": last}));
    }
    events.frames
}

/// An item as it begins and as it is when it is done.
fn items(block: &Block, index: usize) -> (Value, Value) {
    match block {
        Block::Text(pieces) => {
            let item = |status: &str, content: Value| {
                json!({"id": format!("msg_{index}"), "type": "message", "role": "assistant",
                    "status": status, "content": content})
            };
            let text = json!([{"type": "output_text", "text": pieces.concat(), "annotations": []}]);
            (item("in_progress", json!([])), item("completed", text))
        }
        Block::Thinking(pieces, signature) => {
            let item = |summary: Value, encrypted: Value| {
                json!({"id": format!("rs_{index}"), "type": "reasoning", "summary": summary,
                    "encrypted_content": encrypted})
            };
            let summary = json!([{"type": "summary_text", "text": pieces.concat()}]);
            (item(json!([]), Value::Null), item(summary, signature.clone().into()))
        }
        Block::Call { id, tool, json: pieces, .. } => {
            let item = |status: &str, arguments: &str| {
                json!({"id": format!("fc_{index}"), "type": "function_call", "status": status,
                    "call_id": id, "name": tool, "arguments": arguments})
            };
            (item("in_progress", ""), item("completed", &pieces.concat()))
        }
        Block::Item(item) => (item.clone(), item.clone()),
        Block::Frame(_) => (Value::Null, Value::Null),
    }
}

fn deltas(block: &Block, index: usize, events: &mut Events) {
    let (kind, id, pieces) = match block {
        Block::Text(pieces) => ("response.output_text", format!("msg_{index}"), pieces),
        Block::Thinking(pieces, _) => ("response.reasoning_summary_text", format!("rs_{index}"), pieces),
        Block::Call { json, .. } => ("response.function_call_arguments", format!("fc_{index}"), json),
        Block::Item(_) | Block::Frame(_) => return,
    };
    let place = json!({"item_id": id, "output_index": index});
    let with = |key: &str, value: &str| {
        let mut fields = place.clone();
        if let Some(fields) = fields.as_object_mut() {
            fields.insert(key.into(), value.into());
        }
        fields
    };
    if matches!(block, Block::Thinking(..)) {
        let part = json!({"item_id": id, "output_index": index, "summary_index": 0});
        events.push("response.reasoning_summary_part.added", part);
    }
    for piece in pieces {
        events.push(&format!("{kind}.delta"), with("delta", piece));
    }
    events.push(&format!("{kind}.done"), with("text", &pieces.concat()));
}

fn response(saying: &Saying, status: &str, output: &[Value]) -> Value {
    let usage = saying.usage;
    let reason = match (status, saying.stop) {
        ("incomplete", Stop::Refused) => json!({"reason": "content_filter"}),
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
    let usage = if status == "in_progress" { Value::Null } else { usage };
    json!({
        "id": "resp_1", "object": "response", "created_at": 1_790_000_000, "status": status, "error": null,
        "incomplete_details": reason, "model": "gpt-test", "output": output, "parallel_tool_calls": true,
        "store": false, "usage": usage,
    })
}

fn refusal(failure: &Failure) -> String {
    let Failure { code, message, .. } = failure;
    json!({"error": {"message": message, "type": "invalid_request_error", "param": null, "code": code}})
        .to_string()
}

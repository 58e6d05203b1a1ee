//! Answers in the format of Anthropic's Messages API.

use serde_json::{Value, json};

use super::{AnswerBlock, AnswerStop, ErrorAnswer, ServerWire, StreamedAnswer};

/// The response format.
pub const WIRE: ServerWire = ServerWire {
    frames,
    refusal,
    ping: PING,
    request_header: "request-id",
};

const PING: &str = "event: ping\ndata: {\"type\": \"ping\"}\n\n";

fn frame(event: &Value) -> String {
    let name = event
        .get("type")
        .and_then(Value::as_str)
        .unwrap_or_default();
    format!("event: {name}\ndata: {event}\n\n")
}

fn frames(saying: &StreamedAnswer) -> Vec<String> {
    let usage = saying.usage;
    let start = json!({"type": "message_start", "message": {
        "id": "msg_01", "type": "message", "role": "assistant", "model": "claude-test", "content": [],
        "stop_reason": null, "stop_sequence": null,
        "usage": {
            "input_tokens": usage.input - usage.cache_read - usage.cache_write,
            "cache_creation_input_tokens": usage.cache_write,
            "cache_read_input_tokens": usage.cache_read,
            "output_tokens": 1,
            "service_tier": "standard",
        },
    }});
    let mut frames = vec![frame(&start), frame(&json!({"type": "ping"}))];
    let mut index = 0;
    for block in &saying.blocks {
        if let AnswerBlock::Frame(text) = block {
            frames.push(text.clone());
            continue;
        }
        let (item, deltas) = spelled(block);
        frames.push(frame(
            &json!({"type": "content_block_start", "index": index, "content_block": item}),
        ));
        let delta =
            |delta| frame(&json!({"type": "content_block_delta", "index": index, "delta": delta}));
        frames.extend(deltas.into_iter().map(delta));
        frames.push(frame(
            &json!({"type": "content_block_stop", "index": index}),
        ));
        index += 1;
    }
    if let Some(failure) = &saying.failure {
        frames.push(format!("event: error\ndata: {}\n\n", refusal(failure)));
    } else if saying.ends {
        frames.extend([frame(&end(saying)), frame(&json!({"type": "message_stop"}))]);
    }
    frames
}

/// The start of a block and its deltas.
fn spelled(block: &AnswerBlock) -> (Value, Vec<Value>) {
    match block {
        AnswerBlock::Text(pieces) => {
            let delta = |text| json!({"type": "text_delta", "text": text});
            (
                json!({"type": "text", "text": ""}),
                pieces.iter().map(delta).collect(),
            )
        }
        AnswerBlock::Thinking(pieces, signature) => {
            let delta = |text| json!({"type": "thinking_delta", "thinking": text});
            let mut deltas: Vec<Value> = pieces.iter().map(delta).collect();
            deltas.push(json!({"type": "signature_delta", "signature": signature}));
            (
                json!({"type": "thinking", "thinking": "", "signature": ""}),
                deltas,
            )
        }
        AnswerBlock::Call { id, tool, json, .. } => {
            let delta = |text| json!({"type": "input_json_delta", "partial_json": text});
            (
                json!({"type": "tool_use", "id": id, "name": tool, "input": {}}),
                json.iter().map(delta).collect(),
            )
        }
        AnswerBlock::Item(item) => (item.clone(), Vec::new()),
        AnswerBlock::Frame(_) => (Value::Null, Vec::new()),
    }
}

fn end(saying: &StreamedAnswer) -> Value {
    let calls = saying
        .blocks
        .iter()
        .any(|block| matches!(block, AnswerBlock::Call { .. }));
    let reason = match saying.stop {
        AnswerStop::End if calls => "tool_use",
        AnswerStop::End => "end_turn",
        AnswerStop::MaxOutput => "max_tokens",
        AnswerStop::Refused => "refusal",
    };
    let details = (saying.stop == AnswerStop::Refused).then(
        || json!({"type": "refusal", "category": "cyber", "explanation": "This could do harm."}),
    );
    let usage = json!({
        "output_tokens": saying.usage.output,
        "output_tokens_details": {"thinking_tokens": saying.usage.reasoning},
    });
    let delta = json!({"stop_reason": reason, "stop_sequence": null, "stop_details": details});
    json!({"type": "message_delta", "delta": delta, "usage": usage})
}

fn refusal(failure: &ErrorAnswer) -> String {
    let error = json!({"type": failure.code, "message": failure.message});
    json!({"type": "error", "error": error, "request_id": "req_1"}).to_string()
}

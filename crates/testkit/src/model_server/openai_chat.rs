//! Answers in the format of OpenAI's Chat Completions.

use serde_json::{Value, json};

use super::{AnswerBlock, AnswerStop, ErrorAnswer, ServerWire, StreamedAnswer};

/// The response format.
pub const WIRE: ServerWire = ServerWire {
    frames,
    refusal,
    request_header: "x-request-id",
    ping: ": PROCESSING\n\n",
};

/// A chunk with this delta, and with the finish reason if it is the last one.
pub fn chunk(delta: &Value, finish: Option<&str>) -> String {
    frame(
        &json!([{"index": 0, "delta": delta, "logprobs": null, "finish_reason": finish}]),
        &Value::Null,
    )
}

fn frame(choices: &Value, usage: &Value) -> String {
    let event = json!({
        "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1_790_000_000, "model": "gpt-test",
        "service_tier": "default", "system_fingerprint": null, "choices": choices, "usage": usage,
    });
    format!("data: {event}\n\n")
}

fn frames(saying: &StreamedAnswer) -> Vec<String> {
    let mut frames = vec![chunk(
        &json!({"role": "assistant", "content": "", "refusal": null}),
        None,
    )];
    let mut calls = 0;
    for block in &saying.blocks {
        if let AnswerBlock::Frame(text) = block {
            frames.push(text.clone());
            continue;
        }
        frames.extend(deltas(block, calls).iter().map(|delta| chunk(delta, None)));
        calls += usize::from(matches!(block, AnswerBlock::Call { .. }));
    }
    if let Some(failure) = &saying.failure {
        frames.push(format!("data: {}\n\n", refusal(failure)));
    } else if saying.ends {
        let reason = match saying.stop {
            AnswerStop::End if calls > 0 => "tool_calls",
            AnswerStop::End => "stop",
            AnswerStop::MaxOutput => "length",
            AnswerStop::Refused => "content_filter",
        };
        frames.extend([
            chunk(&json!({}), Some(reason)),
            frame(&json!([]), &usage(saying)),
        ]);
        frames.push("data: [DONE]\n\n".to_owned());
    }
    frames
}

/// The deltas of a block. Thinking with a signature comes as `reasoning_details`, as routers send it.
fn deltas(block: &AnswerBlock, index: usize) -> Vec<Value> {
    match block {
        AnswerBlock::Text(pieces) => pieces.iter().map(|text| json!({"content": text})).collect(),
        AnswerBlock::Thinking(pieces, signature) if signature.is_empty() => pieces
            .iter()
            .map(|text| json!({"reasoning_content": text}))
            .collect(),
        AnswerBlock::Thinking(pieces, signature) => {
            let detail = |text: &str| json!({"type": "reasoning.text", "text": text, "index": 0});
            let delta =
                |text: &String| json!({"reasoning": text, "reasoning_details": [detail(text)]});
            let signed = json!({"type": "reasoning.text", "signature": signature, "index": 0});
            pieces
                .iter()
                .map(delta)
                .chain([json!({"reasoning_details": [signed]})])
                .collect()
        }
        AnswerBlock::Call {
            id,
            tool,
            json: pieces,
            ..
        } => {
            let function = json!({"name": tool, "arguments": ""});
            let begin = json!({"index": index, "id": id, "type": "function", "function": function});
            let more = |text: &String| json!({"index": index, "function": {"arguments": text}});
            let calls = [begin].into_iter().chain(pieces.iter().map(more));
            calls.map(|call| json!({"tool_calls": [call]})).collect()
        }
        AnswerBlock::Item(delta) => vec![delta.clone()],
        AnswerBlock::Frame(_) => Vec::new(),
    }
}

fn usage(saying: &StreamedAnswer) -> Value {
    let usage = saying.usage;
    json!({
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "total_tokens": usage.input + usage.output,
        "prompt_tokens_details": {
            "cached_tokens": usage.cache_read, "cache_write_tokens": usage.cache_write, "audio_tokens": 0,
        },
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning, "audio_tokens": 0},
    })
}

fn refusal(failure: &ErrorAnswer) -> String {
    let ErrorAnswer { code, message, .. } = failure;
    json!({"error": {"message": message, "type": "error", "param": null, "code": code}}).to_string()
}

//! Answers in the format of Google's `streamGenerateContent?alt=sse`.

use serde_json::{Value, json};

use super::{AnswerBlock, AnswerStop, ErrorAnswer, ServerWire, StreamedAnswer};

/// The response format.
pub const WIRE: ServerWire = ServerWire {
    frames,
    refusal,
    ping: ": ping\n\n",
    request_header: "x-goog-request-id",
};

/// An event. This vendor ends lines with CRLF and gives no event names.
fn frame(parts: &[Value], saying: &StreamedAnswer, finish: Option<&str>) -> String {
    let mut candidate = json!({"content": {"parts": parts, "role": "model"}, "index": 0});
    if let (Some(reason), Some(fields)) = (finish, candidate.as_object_mut()) {
        fields.insert("finishReason".into(), reason.into());
    }
    let event = json!({
        "candidates": [candidate],
        "usageMetadata": usage(saying),
        "modelVersion": "gemini-test",
        "responseId": "resp_1",
    });
    format!("data: {event}\r\n\r\n")
}

fn frames(saying: &StreamedAnswer) -> Vec<String> {
    let mut frames = Vec::new();
    for block in &saying.blocks {
        if let AnswerBlock::Frame(text) = block {
            frames.push(text.clone());
            continue;
        }
        frames.extend(
            parts(block)
                .iter()
                .map(|part| frame(std::slice::from_ref(part), saying, None)),
        );
    }
    if let Some(failure) = &saying.failure {
        frames.push(format!("data: {}\r\n\r\n", refusal(failure)));
    } else if saying.ends {
        let reason = match saying.stop {
            AnswerStop::End => "STOP",
            AnswerStop::MaxOutput => "MAX_TOKENS",
            AnswerStop::Refused => "SAFETY",
        };
        frames.push(frame(&[json!({"text": ""})], saying, Some(reason)));
    }
    frames
}

/// The parts of a block. A call is never split here; a signature is on the last part.
fn parts(block: &AnswerBlock) -> Vec<Value> {
    match block {
        AnswerBlock::Text(pieces) => pieces.iter().map(|text| json!({"text": text})).collect(),
        AnswerBlock::Thinking(pieces, signature) => {
            let mut parts: Vec<Value> = pieces
                .iter()
                .map(|text| json!({"text": text, "thought": true}))
                .collect();
            if let Some(fields) = parts.last_mut().and_then(Value::as_object_mut) {
                fields.insert("thoughtSignature".into(), signature.clone().into());
            }
            parts
        }
        AnswerBlock::Call {
            id,
            tool,
            json,
            signature,
        } => {
            let text = json.concat();
            let args: Value = serde_json::from_str(&text).unwrap_or(Value::String(text));
            let mut part = json!({"functionCall": {"id": id, "name": tool, "args": args}});
            if let (Some(signature), Some(fields)) = (signature, part.as_object_mut()) {
                fields.insert("thoughtSignature".into(), signature.clone().into());
            }
            vec![part]
        }
        AnswerBlock::Item(item) => vec![item.clone()],
        AnswerBlock::Frame(_) => Vec::new(),
    }
}

fn usage(saying: &StreamedAnswer) -> Value {
    let usage = saying.usage;
    json!({
        "promptTokenCount": usage.input,
        "cachedContentTokenCount": usage.cache_read,
        "candidatesTokenCount": usage.output - usage.reasoning,
        "thoughtsTokenCount": usage.reasoning,
        "totalTokenCount": usage.input + usage.output,
    })
}

/// The code is the vendor's status word.
fn refusal(failure: &ErrorAnswer) -> String {
    let ErrorAnswer {
        status,
        code,
        message,
        retry_delay,
        ..
    } = failure;
    let info =
        |delay| json!({"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay});
    let details: Vec<Value> = retry_delay.iter().map(info).collect();
    json!({"error": {"code": status, "message": message, "status": code, "details": details}})
        .to_string()
}

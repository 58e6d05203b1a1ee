//! Estimates token usage, so that tables of tokens and cost have content without a real model.
//!
//! A token is counted as four bytes. Lengths are added up, nothing is copied or
//! counted character by character: this runs once per turn over the whole history.

use rooftree_protocol::{Part, Usage, event::ReplyPart};
use serde_json::Value;

use crate::{ModelMessage, ModelRequest};

use super::entry::ScriptedUsage;

/// Usage of a reply: as the script gives it, the rest estimated. The cost is zero unless the script sets one.
pub(crate) fn estimate_usage(
    given: ScriptedUsage,
    header: ScriptedUsage,
    request: &ModelRequest,
    parts: &[ReplyPart],
) -> Usage {
    let thinking = parts
        .iter()
        .filter(|part| matches!(part, ReplyPart::Thinking { .. }));
    Usage {
        input: given
            .input
            .or(header.input)
            .unwrap_or_else(|| tokens(request_bytes(request))),
        output: given
            .output
            .or(header.output)
            .unwrap_or_else(|| tokens(parts.iter().map(reply_bytes).sum())),
        cache_read: given.cache_read.or(header.cache_read).unwrap_or(0),
        cache_write: given.cache_write.or(header.cache_write).unwrap_or(0),
        reasoning: given
            .reasoning
            .or(header.reasoning)
            .unwrap_or_else(|| tokens(thinking.map(reply_bytes).sum())),
        searches: 0,
        cost_usd: given.cost_usd.or(header.cost_usd).unwrap_or(0.0),
        cost_complete: true,
    }
}

fn tokens(bytes: usize) -> u64 {
    u64::try_from(bytes.div_ceil(4)).unwrap_or(u64::MAX)
}

fn request_bytes(request: &ModelRequest) -> usize {
    let tools = request.tools.iter();
    let tools =
        tools.map(|tool| tool.name.len() + tool.description.len() + json_bytes(&tool.input_schema));
    let messages = request
        .messages
        .iter()
        .map(|message| message_bytes(message));
    request.system.len() + tools.sum::<usize>() + messages.sum::<usize>()
}

fn message_bytes(message: &ModelMessage) -> usize {
    match message {
        ModelMessage::User(parts) => parts.iter().map(part_bytes).sum(),
        ModelMessage::Assistant { parts, .. } => parts.iter().map(reply_bytes).sum(),
        ModelMessage::Results(results) => results
            .iter()
            .flat_map(|result| &result.content)
            .map(part_bytes)
            .sum(),
    }
}

fn part_bytes(part: &Part) -> usize {
    match part {
        Part::Text { text } => text.len(),
        // About what vendors charge for an image of medium size.
        Part::Image { .. } | Part::File { .. } => 4 * 1000,
    }
}

fn reply_bytes(part: &ReplyPart) -> usize {
    match part {
        ReplyPart::Text { text } | ReplyPart::Thinking { text, .. } => text.len(),
        ReplyPart::Call(call) => call.tool.len() + json_bytes(&call.input),
        ReplyPart::Opaque { item, .. } => json_bytes(item),
    }
}

fn json_bytes(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 4,
        Value::String(text) => text.len() + 2,
        Value::Array(items) => 2 + items.iter().map(|item| json_bytes(item) + 1).sum::<usize>(),
        Value::Object(fields) => {
            2 + fields
                .iter()
                .map(|(key, field)| key.len() + 4 + json_bytes(field))
                .sum::<usize>()
        }
    }
}

//! Transforms messages: truncated, without images, with a result for every call. Pure.

use rooftree_protocol::{BlobId, CallId, Outcome, Part, ToolResult};
use rooftree_providers::{ModelMessage, may_be_sent};

use super::OpenToolCall;

/// The message that asks the model to continue a reply that was cut off at its output limit.
pub(super) fn go_on() -> ModelMessage {
    ModelMessage::User(vec![Part::text(
        "Your response was cut off. Please continue.",
    )])
}

/// A message without images, whose tool results are cut to so many characters.
pub(super) fn trimmed(message: &ModelMessage, chars: usize) -> ModelMessage {
    let short = |part: &Part| match part {
        Part::Text { text } => match text.char_indices().nth(chars) {
            Some((at, _)) => Part::text(format!(
                "{}\n[… left out]",
                text.get(..at).unwrap_or_default()
            )),
            None => part.clone(),
        },
        other => without_image(other),
    };
    match message {
        ModelMessage::User(parts) => ModelMessage::User(parts.iter().map(without_image).collect()),
        ModelMessage::Assistant { .. } => message.clone(),
        ModelMessage::Results(results) => {
            let result = |result: &ToolResult| {
                let content = result.content.iter().map(short).collect();
                ToolResult {
                    content,
                    ..result.clone()
                }
            };
            ModelMessage::Results(results.iter().map(result).collect())
        }
    }
}

pub(super) fn without_image(part: &Part) -> Part {
    if let Part::Image { .. } = part {
        Part::text("[image left out]")
    } else {
        part.clone()
    }
}

/// The images of a message, in order.
pub(super) fn images_in(message: &ModelMessage) -> Vec<BlobId> {
    let blob = |part: &Part| match part {
        Part::Image { blob, .. } | Part::File { blob, .. } if may_be_sent(part) => {
            Some(blob.clone())
        }
        _ => None,
    };
    match message {
        ModelMessage::User(parts) => parts.iter().filter_map(blob).collect(),
        ModelMessage::Results(results) => results
            .iter()
            .flat_map(|result| result.content.iter().filter_map(blob))
            .collect(),
        ModelMessage::Assistant { .. } => Vec::new(),
    }
}

/// The result that the model reads for a call whose outcome is unknown.
pub(crate) const INTERRUPTED: &str = "unknown: interrupted. The program stopped while this call was under way; \
     nobody knows whether it took effect. Check before you try again.";

pub(super) fn results_of(calls: &[OpenToolCall], words: &str) -> ModelMessage {
    let result = |open: &OpenToolCall| {
        open.result
            .clone()
            .unwrap_or_else(|| unknown(&open.call.id, words))
    };
    ModelMessage::Results(calls.iter().map(result).collect())
}

pub(super) fn unknown(call: &CallId, words: &str) -> ToolResult {
    ToolResult {
        call: call.clone(),
        outcome: Outcome::Unknown,
        content: vec![Part::text(words)],
    }
}

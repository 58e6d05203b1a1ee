//! Encodes what both OpenAI APIs have in common: content, arguments, tool choice.
//!
//! Neither API has an error flag for results nor a field for other providers' thinking; the
//! texts that stand in for them are defined here once.

use rooftree_protocol::{Outcome, Part, ToolResult};
use serde_json::{Value, json};

use crate::{
    MediaBytes, ModelRequest, ToolChoice,
    media::{EncodedPart, MediaLimits, PDF, encode_part},
};

/// Media both APIs accept at OpenAI: 20 MB of an image, and documents as large as a request may be.
pub(super) const TAKES: MediaLimits = MediaLimits {
    images: &["image/png", "image/jpeg", "image/gif", "image/webp"],
    image_bytes: 20_000_000 / 4 * 3,
    documents: PDF,
    document_bytes: 32_000_000,
};

/// A content part in the form both APIs can express.
pub(super) enum OpenAiContent<'a> {
    /// Words.
    Text(std::borrow::Cow<'a, str>),
    /// An image as a data URL.
    Image(String),
    /// A document as a data URL.
    Document { name: &'a str, url: String },
}

/// Converts parts. Media that cannot be sent are described in words.
pub(super) fn content_parts<'a>(
    parts: &'a [Part],
    media: &MediaBytes,
    takes: &MediaLimits,
) -> Vec<OpenAiContent<'a>> {
    let piece = |part: &'a Part| match encode_part(part, media, takes) {
        EncodedPart::Text(text) => OpenAiContent::Text(text.into()),
        EncodedPart::Words(words) => OpenAiContent::Text(words.into()),
        EncodedPart::Image { media_type, base64 } => {
            OpenAiContent::Image(data_url(media_type, &base64))
        }
        EncodedPart::Document {
            name,
            media_type,
            base64,
        } => OpenAiContent::Document {
            name,
            url: data_url(media_type, &base64),
        },
    };
    parts.iter().map(piece).collect()
}

fn data_url(media_type: &str, base64: &str) -> String {
    format!("data:{media_type};base64,{base64}")
}

/// The text of content parts, one paragraph each.
pub(super) fn words(pieces: &[OpenAiContent<'_>]) -> String {
    let texts: Vec<&str> = pieces
        .iter()
        .filter_map(|piece| {
            if let OpenAiContent::Text(text) = piece {
                Some(text.as_ref())
            } else {
                None
            }
        })
        .collect();
    texts.join("\n\n")
}

/// The prefix of a failed result, because the API has no flag for failure; empty for a success, and empty
/// where the result's own first words are the flag: `[ERROR: …]` of a sub-agent has to stand first.
pub(super) fn failure_prefix(result: &ToolResult) -> &'static str {
    let flag = match result.outcome {
        Outcome::Done => "",
        Outcome::Failed(_) => "[failed] ",
        Outcome::Denied => "[denied] ",
        Outcome::Cancelled => "[cancelled] ",
        Outcome::Unknown => "[interrupted] ",
    };
    let first = result.content.iter().find_map(|part| match part {
        Part::Text { text } => Some(text.as_str()),
        _ => None,
    });
    let says_it = |text: &str| text.starts_with("[ERROR: ") || text.starts_with(flag);
    if first.is_some_and(says_it) { "" } else { flag }
}

/// A call's input as the text of a JSON object. Servers render it with templates that fail on anything else.
pub(super) fn arguments(input: &Value) -> String {
    match input {
        Value::Object(_) => input.to_string(),
        Value::Null => "{}".to_owned(),
        other => json!({"malformed": other}).to_string(),
    }
}

/// Parses arguments as the model wrote them. Invalid JSON is kept as text, so that the tool can report it.
pub(super) fn input(written: &str) -> Value {
    if written.trim().is_empty() {
        return json!({});
    }
    serde_json::from_str(written).unwrap_or_else(|_| Value::String(written.to_owned()))
}

/// The value of `tool_choice`.
pub(super) enum OpenAiToolChoice<'a> {
    Word(&'static str),
    This(&'a str),
}

/// The tool choice to send; none if the model may choose freely, or has no tools.
pub(super) fn tool_choice(request: &ModelRequest) -> Option<OpenAiToolChoice<'_>> {
    match &request.tool_choice {
        _ if request.tools.is_empty() => None,
        ToolChoice::Auto => None,
        ToolChoice::Nothing => Some(OpenAiToolChoice::Word("none")),
        ToolChoice::Something => Some(OpenAiToolChoice::Word("required")),
        ToolChoice::This(name) => Some(OpenAiToolChoice::This(name)),
    }
}

/// Whether a schema can be enforced in strict mode: closed objects, nothing optional.
pub(super) fn is_strict(schema: &Value) -> bool {
    let children = match schema {
        Value::Object(fields) => fields,
        Value::Array(items) => return items.iter().all(is_strict),
        _ => return true,
    };
    if let Some(Value::Object(properties)) = children.get("properties") {
        let required = children.get("required").and_then(Value::as_array);
        let all_required = properties.keys().all(|name| {
            required.is_some_and(|names| names.iter().any(|known| known == name.as_str()))
        });
        if !all_required || children.get("additionalProperties") != Some(&Value::Bool(false)) {
            return false;
        }
    }
    children.values().all(is_strict)
}

#[cfg(test)]
mod tests {
    use rooftree_protocol::{CallId, ErrorCode};

    use super::*;

    #[test]
    fn r1_d17_the_error_of_a_sub_agent_stands_first() {
        let flagged = |outcome, text: &str| {
            let content = vec![Part::text(text)];
            failure_prefix(&ToolResult {
                call: CallId::from_entropy(1),
                outcome,
                content,
            })
        };
        let failed = Outcome::Failed(ErrorCode::ToolFailed);
        assert_eq!(flagged(failed, "[ERROR: sub-agent 'x' failed: y.]"), "");
        assert_eq!(flagged(failed, "no such file"), "[failed] ");
        assert_eq!(flagged(Outcome::Cancelled, "[cancelled] the run ended"), "");
        assert_eq!(flagged(Outcome::Cancelled, "stopped"), "[cancelled] ");
        assert_eq!(flagged(Outcome::Done, "fine"), "");
    }

    #[test]
    fn arguments_are_always_an_object_and_input_is_never_lost() {
        assert_eq!(arguments(&json!({"a": 1})), r#"{"a":1}"#);
        assert_eq!(arguments(&Value::Null), "{}");
        assert_eq!(arguments(&json!("{\"a\":")), r#"{"malformed":"{\"a\":"}"#);
        assert_eq!(input("  "), json!({}));
        assert_eq!(input(r#"{"a":1}"#), json!({"a": 1}));
        assert_eq!(input(r#"{"a":"#), json!(r#"{"a":"#));
    }

    #[test]
    fn a_schema_is_strict_when_every_object_in_it_is_closed() {
        let closed = json!({"type": "object", "properties": {"a": {"type": "string"}},
            "required": ["a"], "additionalProperties": false});
        assert!(is_strict(&closed));
        assert!(!is_strict(
            &json!({"type": "object", "properties": {"a": {"type": "string"}}})
        ));
        assert!(!is_strict(
            &json!({"type": "array", "items": {"properties": {"a": {}}, "required": ["a"]}})
        ));
    }
}

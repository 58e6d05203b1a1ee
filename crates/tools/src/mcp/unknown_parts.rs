//! Keeps the known parts of a tool result when other parts have an unknown type.

use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::Value;

use super::sanitize::sanitize_text;

/// An answer with parts of a type that is not known here: these are named, the others are kept.
pub(super) fn recovered(mut result: Value) -> Option<CallToolResult> {
    for part in result.get_mut("content")?.as_array_mut()? {
        if serde_json::from_value::<ContentBlock>(part.clone()).is_err() {
            let kind = part.get("type").and_then(Value::as_str).unwrap_or("none");
            let text = format!(
                "[a part of unknown type `{}` is not shown]",
                sanitize_text(kind, 60)
            );
            *part = serde_json::json!({ "type": "text", "text": text });
        }
    }
    serde_json::from_value(result).ok()
}

//! Parses and validates a Responses request.

use serde_json::{Map, Value};

use crate::openai::{
    content::{self, IncomingMessage, IncomingPart, IncomingRole},
    errors::ApiError,
    request::{
        self, ApiRequest, ResponseMode, UnsupportedField, flag, is_empty, is_free, is_off, text,
    },
};

/// Fields that ask for something an agent does not do, what of them is harmless, and why not.
const REFUSED: &[UnsupportedField] = &[
    (
        "tools",
        is_empty,
        "the agent has tools of its own and uses them on the server",
    ),
    (
        "tool_choice",
        is_free,
        "the agent chooses among its own tools",
    ),
    (
        "previous_response_id",
        is_empty,
        "go on with a session by the header x-rooftree-session, or by `user`",
    ),
    (
        "conversation",
        is_empty,
        "go on with a session by the header x-rooftree-session, or by `user`",
    ),
    (
        "background",
        is_off,
        "ask with an idempotency-key, and again with the same one",
    ),
    ("prompt", is_empty, "the agent has a prompt of its own"),
    (
        "top_logprobs",
        is_off,
        "an agent's answer has no log probabilities",
    ),
    (
        "text",
        is_plain,
        "an agent answers in text; ask for another form in words",
    ),
];

/// Fields that are read.
const READ: &[&str] = &["model", "input", "instructions", "stream", "user"];

/// Reads a body.
pub(super) fn read(body: &[u8]) -> Result<ApiRequest, ApiError> {
    let fields = request::fields(body, REFUSED)?;
    let mut said: Vec<IncomingMessage> = text(&fields, "instructions")?
        .map(|words| text_message(IncomingRole::System, words))
        .into_iter()
        .collect();
    said.extend(input(&fields)?);
    let (earlier, last) = request::split_last_message(said, "input")?;
    Ok(ApiRequest {
        model: request::model(&fields)?,
        earlier,
        last,
        mode: if flag(fields.get("stream"), "stream")? {
            ResponseMode::Pieces
        } else {
            ResponseMode::Whole
        },
        user: request::user(&fields)?,
        ignored: request::ignored(&fields, READ, REFUSED),
    })
}

fn input(fields: &Map<String, Value>) -> Result<Vec<IncomingMessage>, ApiError> {
    match fields.get("input") {
        None => Err(ApiError::invalid("input", "`input` is missing")),
        Some(Value::String(words)) => Ok(vec![text_message(IncomingRole::User, words.clone())]),
        Some(Value::Array(items)) => {
            let read = |(index, value)| item(value, &format!("input[{index}]")).transpose();
            items.iter().enumerate().filter_map(read).collect()
        }
        Some(_) => Err(ApiError::invalid(
            "input",
            "`input` must be a string or a list of items",
        )),
    }
}

/// What another model had called is told in words; what it thought is left out.
fn item(value: &Value, place: &str) -> Result<Option<IncomingMessage>, ApiError> {
    let field = |name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default();
    match value.get("type").and_then(Value::as_str) {
        None | Some("message") => content::read(value, place).map(Some),
        Some("function_call") => {
            let words = format!("[called {} {}]", field("name"), field("arguments"));
            Ok(Some(text_message(IncomingRole::Assistant, words)))
        }
        Some("function_call_output") => Ok(Some(text_message(
            IncomingRole::Tool,
            field("output").to_owned(),
        ))),
        Some("reasoning") => Ok(None),
        Some(_) => {
            let known = "message, function_call, function_call_output, reasoning";
            Err(ApiError::invalid(
                format!("{place}.type"),
                format!("an item must be one of {known}"),
            ))
        }
    }
}

fn text_message(role: IncomingRole, words: String) -> IncomingMessage {
    IncomingMessage {
        role,
        pieces: vec![IncomingPart::Text(words)],
    }
}

fn is_plain(value: &Value) -> bool {
    let kind = value.get("format").and_then(|format| format.get("type"));
    kind.is_none_or(|kind| kind.as_str() == Some("text"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn reading(body: &Value) -> Result<ApiRequest, ApiError> {
        read(body.to_string().as_bytes())
    }

    #[test]
    fn instructions_and_items_become_messages() {
        let body = json!({"model": "agent:a", "instructions": "Be brief.", "temperature": 1, "input": [
            {"role": "user", "content": "one"},
            {"type": "reasoning", "summary": []},
            {"type": "function_call", "name": "look", "arguments": "{}", "call_id": "c"},
            {"type": "function_call_output", "call_id": "c", "output": "red"},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "two"}]},
            {"role": "user", "content": [
                {"type": "input_text", "text": "three"},
                {"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo="},
                {"type": "input_file", "filename": "a.pdf", "file_data": "data:x;base64,JVBERi0="},
            ]},
        ]});
        let asked = reading(&body).unwrap();
        let roles: Vec<IncomingRole> = asked.earlier.iter().map(|said| said.role).collect();
        assert_eq!(
            roles,
            [
                IncomingRole::System,
                IncomingRole::User,
                IncomingRole::Assistant,
                IncomingRole::Tool,
                IncomingRole::Assistant
            ]
        );
        assert_eq!(
            (asked.last.pieces.len(), asked.ignored),
            (3, vec!["temperature".to_owned()])
        );
        let short = reading(&json!({"model": "agent:a", "input": "hi", "stream": true})).unwrap();
        assert_eq!((short.earlier.len(), short.mode), (0, ResponseMode::Pieces));
    }

    #[test]
    fn what_cannot_be_done_is_refused_by_name() {
        for (field, value) in [
            ("tools", json!([{"type": "web_search"}])),
            ("previous_response_id", json!("resp_1")),
            ("background", json!(true)),
            ("text", json!({"format": {"type": "json_schema"}})),
            ("input", json!([])),
            ("input", json!(7)),
            ("input", json!([{"role": "assistant", "content": "x"}])),
            (
                "input[0].type",
                json!([{"type": "item_reference", "id": "x"}]),
            ),
            (
                "input[0].content[0].image_url",
                json!([{"role": "user", "content": [{"type": "input_image", "image_url": "http://x/"}]}]),
            ),
        ] {
            let mut body = json!({"model": "agent:a", "input": "hi"});
            body[field.split('[').next().unwrap()] = value;
            let failure = reading(&body).unwrap_err();
            assert_eq!(failure.body_value()["error"]["param"], field, "{failure:?}");
        }
    }
}

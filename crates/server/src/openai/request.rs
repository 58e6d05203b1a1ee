//! Parses and validates a Chat Completions request, and what all requests share. An unsupported field is
//! refused with its name; a field that has no effect on an agent is noted, so that the response can say so.

use serde_json::{Map, Value};

use super::{
    content::{self, IncomingMessage, IncomingRole},
    errors::ApiError,
};

/// Characters of a `user`.
const USER_CHARS: usize = 256;
/// Fields without effect that are told; more are not worth a line.
const MOST_TOLD: usize = 32;
/// Characters of such a field's name.
const NAME_CHARS: usize = 64;

/// A field that asks for something an agent does not do, what of it is harmless, and why not.
pub(super) type UnsupportedField = (&'static str, fn(&Value) -> bool, &'static str);

/// All of them.
const REFUSED: &[UnsupportedField] = &[
    (
        "tools",
        is_empty,
        "the agent has tools of its own and uses them on the server",
    ),
    (
        "functions",
        is_empty,
        "the agent has tools of its own and uses them on the server",
    ),
    (
        "tool_choice",
        is_free,
        "the agent chooses among its own tools",
    ),
    (
        "function_call",
        is_free,
        "the agent chooses among its own tools",
    ),
    ("n", is_one, "an agent answers once"),
    (
        "logprobs",
        is_off,
        "an agent's answer has no log probabilities",
    ),
    (
        "top_logprobs",
        is_off,
        "an agent's answer has no log probabilities",
    ),
    (
        "response_format",
        is_text,
        "an agent answers in text; ask for another form in words",
    ),
    ("stop", is_empty, "an agent ends by itself"),
    (
        "logit_bias",
        is_empty,
        "tokens cannot be weighed for an agent",
    ),
    ("modalities", is_text_alone, "an agent answers in text"),
    ("audio", is_empty, "an agent answers in text"),
    (
        "web_search_options",
        is_empty,
        "an agent searches the web if it has the tool",
    ),
];

/// Fields that are read.
const READ: &[&str] = &["model", "messages", "stream", "stream_options", "user"];

/// A request that was understood.
#[derive(Debug)]
pub(crate) struct ApiRequest {
    pub(crate) model: String,
    /// Everything said before.
    pub(crate) earlier: Vec<IncomingMessage>,
    /// What is said now, by the user.
    pub(crate) last: IncomingMessage,
    pub(crate) mode: ResponseMode,
    pub(crate) user: Option<String>,
    /// Fields that had no effect.
    pub(crate) ignored: Vec<String>,
}

/// How the answer comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ResponseMode {
    Whole,
    Pieces,
    /// And at the end what it cost.
    PiecesAndUsage,
}

/// Reads a body.
pub(super) fn read(body: &[u8]) -> Result<ApiRequest, ApiError> {
    let fields = fields(body, REFUSED)?;
    let (earlier, last) = split_last_message(messages(&fields)?, "messages")?;
    Ok(ApiRequest {
        model: model(&fields)?,
        earlier,
        last,
        mode: response_mode(&fields)?,
        user: user(&fields)?,
        ignored: ignored(&fields, READ, REFUSED),
    })
}

/// The fields of a body that ask for nothing that cannot be done; `null` is the same as absent.
pub(super) fn fields(
    body: &[u8],
    refused: &[UnsupportedField],
) -> Result<Map<String, Value>, ApiError> {
    let value: Value = serde_json::from_slice(body)
        .map_err(|error| ApiError::unreadable(format!("the body is not JSON: {error}")))?;
    let Value::Object(mut fields) = value else {
        return Err(ApiError::unreadable("the body must be a JSON object"));
    };
    fields.retain(|_, value| !value.is_null());
    for (name, is_harmless, why) in refused {
        if fields.get(*name).is_some_and(|value| !is_harmless(value)) {
            return Err(ApiError::invalid(
                *name,
                format!("`{name}` cannot be used here: {why}"),
            ));
        }
    }
    Ok(fields)
}

fn messages(fields: &Map<String, Value>) -> Result<Vec<IncomingMessage>, ApiError> {
    let messages = fields.get("messages").ok_or_else(|| missing("messages"))?;
    let Value::Array(messages) = messages else {
        return Err(ApiError::invalid("messages", "`messages` must be a list"));
    };
    let read = |(index, message)| content::read(message, &format!("messages[{index}]"));
    messages.iter().enumerate().map(read).collect()
}

/// What was said before, and what is said now; `place` is the field it stands in.
pub(super) fn split_last_message(
    mut said: Vec<IncomingMessage>,
    place: &str,
) -> Result<(Vec<IncomingMessage>, IncomingMessage), ApiError> {
    match said.pop() {
        Some(last) if last.role == IncomingRole::User && !last.is_empty() => Ok((said, last)),
        Some(last) if last.role == IncomingRole::User => {
            Err(ApiError::invalid(place, "the last message says nothing"))
        }
        Some(_) => Err(ApiError::invalid(
            place,
            "the last message must be the user's: it is what is answered",
        )),
        None => Err(ApiError::invalid(
            place,
            format!("`{place}` is empty: there is nothing to answer"),
        )),
    }
}

/// Whom it is for.
pub(super) fn model(fields: &Map<String, Value>) -> Result<String, ApiError> {
    text(fields, "model")?.ok_or_else(|| missing("model"))
}

fn response_mode(fields: &Map<String, Value>) -> Result<ResponseMode, ApiError> {
    let streams = flag(fields.get("stream"), "stream")?;
    let options = match fields.get("stream_options") {
        None => None,
        Some(Value::Object(options)) => Some(options),
        Some(_) => {
            return Err(ApiError::invalid(
                "stream_options",
                "`stream_options` must be an object",
            ));
        }
    };
    if options.is_some() && !streams {
        return Err(ApiError::invalid(
            "stream_options",
            "`stream_options` is only for `stream: true`",
        ));
    }
    let usage = options
        .and_then(|options| options.get("include_usage"))
        .filter(|value| !value.is_null());
    Ok(
        match (streams, flag(usage, "stream_options.include_usage")?) {
            (false, _) => ResponseMode::Whole,
            (true, false) => ResponseMode::Pieces,
            (true, true) => ResponseMode::PiecesAndUsage,
        },
    )
}

/// Who says it, if the client tells.
pub(super) fn user(fields: &Map<String, Value>) -> Result<Option<String>, ApiError> {
    let Some(user) = text(fields, "user")? else {
        return Ok(None);
    };
    let is_good =
        (1..=USER_CHARS).contains(&user.chars().count()) && !user.chars().any(char::is_control);
    if !is_good {
        let message = format!(
            "`user` must have 1 to {USER_CHARS} characters, none of them a control character"
        );
        return Err(ApiError::invalid("user", message));
    }
    Ok(Some(user))
}

/// Fields that are neither read nor refused.
pub(super) fn ignored(
    fields: &Map<String, Value>,
    read: &[&str],
    refused: &[UnsupportedField],
) -> Vec<String> {
    let is_known =
        |name: &str| read.contains(&name) || refused.iter().any(|(known, ..)| *known == name);
    let ignored = fields.keys().filter(|name| !is_known(name)).take(MOST_TOLD);
    ignored
        .map(|name| name.chars().take(NAME_CHARS).collect())
        .collect()
}

pub(super) fn text(fields: &Map<String, Value>, name: &str) -> Result<Option<String>, ApiError> {
    match fields.get(name) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(ApiError::invalid(
            name,
            format!("`{name}` must be a string"),
        )),
    }
}

pub(super) fn flag(value: Option<&Value>, name: &str) -> Result<bool, ApiError> {
    match value {
        None => Ok(false),
        Some(Value::Bool(flag)) => Ok(*flag),
        Some(_) => Err(ApiError::invalid(
            name,
            format!("`{name}` must be true or false"),
        )),
    }
}

fn missing(name: &str) -> ApiError {
    ApiError::invalid(name, format!("`{name}` is missing"))
}

pub(super) fn is_empty(value: &Value) -> bool {
    match value {
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.is_empty(),
        Value::String(text) => text.is_empty(),
        _ => false,
    }
}

pub(super) fn is_free(value: &Value) -> bool {
    matches!(value.as_str(), Some("auto" | "none"))
}

fn is_one(value: &Value) -> bool {
    value.as_u64() == Some(1)
}

pub(super) fn is_off(value: &Value) -> bool {
    value.as_bool() == Some(false) || value.as_u64() == Some(0)
}

fn is_text(value: &Value) -> bool {
    value.get("type").and_then(Value::as_str) == Some("text")
}

fn is_text_alone(value: &Value) -> bool {
    value
        .as_array()
        .is_some_and(|list| list.iter().all(|one| one.as_str() == Some("text")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn with(more: Value) -> Value {
        let mut body = json!({"model": "agent:a", "messages": [{"role": "user", "content": "hi"}]});
        body.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        body
    }

    fn reading(body: &Value) -> Result<ApiRequest, ApiError> {
        read(body.to_string().as_bytes())
    }

    #[test]
    fn what_has_no_effect_is_told_and_what_cannot_be_done_is_refused_by_name() {
        let harmless = json!({
            "temperature": 0.2, "max_tokens": 9, "seed": null, "n": 1, "tools": [], "tool_choice": "auto",
            "response_format": {"type": "text"}, "logprobs": false, "stop": null, "modalities": ["text"],
        });
        let asked = reading(&with(harmless)).unwrap();
        assert_eq!(asked.ignored, ["temperature", "max_tokens"]);
        for (field, value) in [
            ("tools", json!([{"type": "function"}])),
            ("functions", json!([{}])),
            ("tool_choice", json!("required")),
            ("n", json!(2)),
            ("n", json!("1")),
            ("logprobs", json!(true)),
            ("top_logprobs", json!(3)),
            ("response_format", json!({"type": "json_object"})),
            ("stop", json!("\n")),
            ("logit_bias", json!({"1": 5})),
            ("modalities", json!(["text", "audio"])),
            ("audio", json!({"voice": "x"})),
            ("stream", json!("yes")),
            ("stream_options", json!({"include_usage": true})),
            ("user", json!("")),
            ("user", json!("a\u{7}")),
            ("user", json!("x".repeat(257))),
            ("model", json!(7)),
            ("messages", json!([])),
            ("messages", json!({})),
            ("messages", json!([{"role": "assistant", "content": "hi"}])),
            ("messages", json!([{"role": "user", "content": ""}])),
        ] {
            let failure = reading(&with(json!({field: value}))).unwrap_err();
            assert_eq!(failure.body_value()["error"]["param"], field, "{failure:?}");
        }
    }

    #[test]
    fn what_is_no_object_is_said_to_be_none() {
        for body in ["", "{", "[]", "7", "\u{feff}{}"] {
            assert_eq!(
                read(body.as_bytes()).unwrap_err().body_value()["error"]["code"],
                "invalid_json"
            );
        }
        assert!(read(&[b'[', b'"', 0xff, b'"', b']']).is_err());
        assert!(read("[".repeat(100_000).as_bytes()).is_err());
    }

    #[test]
    fn usage_is_sent_along_with_pieces_if_it_is_asked_for() {
        let mode = |more| reading(&with(more)).unwrap().mode;
        assert_eq!(mode(json!({})), ResponseMode::Whole);
        assert_eq!(mode(json!({"stream": true})), ResponseMode::Pieces);
        let options = json!({"stream": true, "stream_options": {"include_usage": true}});
        assert_eq!(mode(options), ResponseMode::PiecesAndUsage);
    }
}

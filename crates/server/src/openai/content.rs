//! Parses one message of a request: its role, its text, and the pictures and files in it.

use base64::{Engine, engine::general_purpose::STANDARD};
use rooftree_protocol::media_type;
use serde_json::Value;

use super::errors::ApiError;

/// Characters of a file's name.
const NAME_CHARS: usize = 128;

/// A message.
#[derive(Debug)]
pub(crate) struct IncomingMessage {
    pub(crate) role: IncomingRole,
    pub(crate) pieces: Vec<IncomingPart>,
}

impl IncomingMessage {
    pub(crate) fn is_empty(&self) -> bool {
        self.pieces
            .iter()
            .all(|piece| matches!(piece, IncomingPart::Text(text) if text.trim().is_empty()))
    }
}

/// Who says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IncomingRole {
    System,
    User,
    Assistant,
    Tool,
}

impl IncomingRole {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Tool => "tool",
        }
    }
}

/// A piece of a message.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum IncomingPart {
    Text(String),
    Media(IncomingMedia),
}

/// A picture or a file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct IncomingMedia {
    /// What the sender calls a file; none for a picture.
    pub(crate) name: Option<String>,
    pub(crate) media_type: &'static str,
    pub(crate) bytes: Vec<u8>,
    /// Where it stands in the request.
    pub(crate) place: String,
}

/// Parses a message; `place` is its name in errors.
pub(crate) fn read(message: &Value, place: &str) -> Result<IncomingMessage, ApiError> {
    if !message.is_object() {
        return Err(ApiError::invalid(
            place,
            format!("`{place}` must be an object"),
        ));
    }
    let role = match message.get("role").and_then(Value::as_str) {
        Some("system" | "developer") => IncomingRole::System,
        Some("user") => IncomingRole::User,
        Some("assistant") => IncomingRole::Assistant,
        Some("tool" | "function") => IncomingRole::Tool,
        _ => {
            let known = "system, developer, user, assistant, tool";
            return Err(ApiError::invalid(
                format!("{place}.role"),
                format!("the role must be one of {known}"),
            ));
        }
    };
    let place = format!("{place}.content");
    let mut pieces = match message.get("content") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::String(text)) => vec![IncomingPart::Text(text.clone())],
        Some(Value::Array(parts)) => {
            let read = |(index, part)| piece(part, &format!("{place}[{index}]"));
            parts
                .iter()
                .enumerate()
                .map(read)
                .collect::<Result<_, _>>()?
        }
        Some(_) => {
            return Err(ApiError::invalid(
                &place,
                "the content must be a string or a list of parts",
            ));
        }
    };
    let calls = message
        .get("tool_calls")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    pieces.extend(calls.map(call));
    Ok(IncomingMessage { role, pieces })
}

fn piece(part: &Value, place: &str) -> Result<IncomingPart, ApiError> {
    let kind = part.get("type").and_then(Value::as_str);
    let text = |name: &str| {
        part.get(name)
            .and_then(Value::as_str)
            .map(|text| IncomingPart::Text(text.to_owned()))
            .ok_or_else(|| ApiError::invalid(format!("{place}.{name}"), "it must be a string"))
    };
    match kind {
        Some("text" | "input_text" | "output_text") => text("text"),
        Some("refusal") => text("refusal"),
        Some("image_url" | "input_image") => picture(part, &format!("{place}.image_url")),
        Some("file") => file(
            part.get("file").unwrap_or(&Value::Null),
            &format!("{place}.file"),
        ),
        Some("input_file") => file(part, place),
        _ => {
            let message =
                "a part must be text, a picture or a file: text, image_url, file; input_text, …";
            Err(ApiError::invalid(format!("{place}.type"), message))
        }
    }
}

fn picture(part: &Value, place: &str) -> Result<IncomingPart, ApiError> {
    let image = part.get("image_url");
    let url = image
        .and_then(|image| image.get("url").or(Some(image)))
        .and_then(Value::as_str);
    let bytes = data(url, place)?;
    let media_type = media_type(&bytes);
    if !media_type.starts_with("image/") {
        return Err(ApiError::invalid(
            place,
            "these bytes are no PNG, JPEG, GIF or WebP picture",
        ));
    }
    Ok(IncomingPart::Media(IncomingMedia {
        name: None,
        media_type,
        bytes,
        place: place.into(),
    }))
}

fn file(file: &Value, place: &str) -> Result<IncomingPart, ApiError> {
    let field = |name: &str| file.get(name).and_then(Value::as_str);
    let bytes = data(field("file_data"), &format!("{place}.file_data"))?;
    let name = field("filename").unwrap_or("file");
    let name = name
        .chars()
        .filter(|letter| !letter.is_control())
        .take(NAME_CHARS)
        .collect();
    let media_type = media_type(&bytes);
    Ok(IncomingPart::Media(IncomingMedia {
        name: Some(name),
        media_type,
        bytes,
        place: place.into(),
    }))
}

/// The bytes of a `data:` URL. Other addresses are not fetched: the server would go where a client sends it.
fn data(url: Option<&str>, place: &str) -> Result<Vec<u8>, ApiError> {
    let encoded = url
        .and_then(|url| url.strip_prefix("data:"))
        .and_then(|rest| rest.split_once(";base64,"));
    let Some((_, encoded)) = encoded else {
        let message = "it must be a data: URL with base64; this server fetches nothing";
        return Err(ApiError::invalid(place, message));
    };
    STANDARD
        .decode(encoded)
        .map_err(|error| ApiError::invalid(place, format!("this is not base64: {error}")))
}

/// What another model had called, in words: the tools are the client's and not the agent's.
fn call(call: &Value) -> IncomingPart {
    let field = |name: &str| {
        let function = call.get("function").and_then(|function| function.get(name));
        function.and_then(Value::as_str).unwrap_or_default()
    };
    IncomingPart::Text(format!("[called {} {}]", field("name"), field("arguments")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const PIXEL: &str = "data:image/jpeg;base64,iVBORw0KGgo=";

    fn param(message: &Value) -> String {
        let failure = read(message, "messages[0]").unwrap_err();
        failure.body_value()["error"]["param"]
            .as_str()
            .unwrap()
            .to_owned()
    }

    #[test]
    fn a_picture_is_what_its_bytes_say_and_is_never_fetched() {
        let part =
            |url: &str| json!({"type": "image_url", "image_url": {"url": url, "detail": "low"}});
        let said = read(&json!({"role": "user", "content": [part(PIXEL)]}), "m").unwrap();
        let [IncomingPart::Media(media)] = said.pieces.as_slice() else {
            panic!("{said:?}")
        };
        assert_eq!((media.media_type, media.bytes.len()), ("image/png", 8));
        for url in [
            "https://example.com/a.png",
            "http://169.254.169.254/",
            "file:///etc/passwd",
            "data:image/png,abc",
            "data:image/png;base64,%%",
            "data:image/png;base64,aGVsbG8=",
            "",
        ] {
            let message = json!({"role": "user", "content": ["x", part(url)]});
            assert_eq!(param(&message), "messages[0].content[0].type");
            let message = json!({"role": "user", "content": [part(url)]});
            assert_eq!(param(&message), "messages[0].content[0].image_url", "{url}");
        }
    }

    #[test]
    fn a_file_has_a_name_without_control_characters() {
        let file = json!({"filename": "a\nb.pdf", "file_data": "data:x/y;base64,JVBERi0="});
        let said = read(
            &json!({"role": "user", "content": [{"type": "file", "file": file}]}),
            "m",
        )
        .unwrap();
        let [IncomingPart::Media(media)] = said.pieces.as_slice() else {
            panic!("{said:?}")
        };
        assert_eq!(
            (media.name.as_deref(), media.media_type),
            (Some("ab.pdf"), "application/pdf")
        );
        let by_id =
            json!({"role": "user", "content": [{"type": "file", "file": {"file_id": "f"}}]});
        assert_eq!(param(&by_id), "messages[0].content[0].file.file_data");
    }

    #[test]
    fn what_is_no_message_is_named() {
        for (message, field) in [
            (json!("hi"), "messages[0]"),
            (json!({"content": "hi"}), "messages[0].role"),
            (json!({"role": "root", "content": "hi"}), "messages[0].role"),
            (json!({"role": "user", "content": 7}), "messages[0].content"),
            (
                json!({"role": "user", "content": [{"type": "text"}]}),
                "messages[0].content[0].text",
            ),
            (
                json!({"role": "user", "content": [{"type": "input_audio"}]}),
                "messages[0].content[0].type",
            ),
        ] {
            assert_eq!(param(&message), field);
        }
    }
}

//! Encodes a conversation for Responses: a flat list of items.

use rooftree_protocol::{ToolResult, event::ReplyPart};
use serde::Serialize;
use serde_json::Value;

use crate::{
    ModelMessage, ModelRequest,
    media::{DroppedContent, is_of},
    openai::request::{OpenAiContent, TAKES, arguments, content_parts, failure_prefix, words},
};

/// One item of the input.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum ResponsesItem<'a> {
    Known(ResponsesKnownItem<'a>),
    /// An opaque item of the vendor's, unchanged.
    Opaque(&'a Value),
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum ResponsesKnownItem<'a> {
    Message {
        role: &'static str,
        /// Whether this is commentary or the final answer; the vendor requires it back.
        #[serde(skip_serializing_if = "Option::is_none")]
        phase: Option<&'a Value>,
        content: ResponsesContent<'a>,
    },
    FunctionCall {
        call_id: &'a str,
        name: &'a str,
        arguments: String,
    },
    FunctionCallOutput {
        call_id: &'a str,
        output: ResponsesCallOutput<'a>,
    },
}

/// Content of a message. The model's own text goes back as a plain string: structured parts of its own
/// need ids, which only the vendor could give.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum ResponsesContent<'a> {
    Words(&'a str),
    Mixed(Vec<ResponsesContentPart<'a>>),
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum ResponsesCallOutput<'a> {
    Words(String),
    Mixed(Vec<ResponsesContentPart<'a>>),
}

#[derive(Debug, Serialize)]
#[serde(tag = "type")]
pub(super) enum ResponsesContentPart<'a> {
    #[serde(rename = "input_text")]
    Text { text: std::borrow::Cow<'a, str> },
    #[serde(rename = "input_image")]
    Image {
        detail: &'static str,
        image_url: String,
    },
    #[serde(rename = "input_file")]
    File {
        filename: &'a str,
        file_data: String,
    },
}

impl<'a> From<OpenAiContent<'a>> for ResponsesContentPart<'a> {
    fn from(piece: OpenAiContent<'a>) -> Self {
        match piece {
            OpenAiContent::Text(text) => Self::Text { text },
            OpenAiContent::Image(image_url) => Self::Image {
                detail: "auto",
                image_url,
            },
            OpenAiContent::Document { name, url } => Self::File {
                filename: name,
                file_data: url,
            },
        }
    }
}

/// Encodes the items of a request. Earlier items are encoded independently of later ones (prompt cache).
pub(super) fn encode_messages<'a>(
    provider: &str,
    request: &'a ModelRequest,
    dropped: &mut DroppedContent,
) -> Vec<ResponsesItem<'a>> {
    let mut items = Vec::with_capacity(request.messages.len() * 2);
    for message in request.messages.iter() {
        match message.as_ref() {
            ModelMessage::User(parts) => {
                let content = content_parts(parts, &request.media, &TAKES)
                    .into_iter()
                    .map(ResponsesContentPart::from);
                let content = ResponsesContent::Mixed(content.collect());
                items.push(ResponsesItem::Known(ResponsesKnownItem::Message {
                    role: "user",
                    phase: None,
                    content,
                }));
            }
            ModelMessage::Assistant { model, parts } => {
                assistant(provider, model, parts, dropped, &mut items);
            }
            ModelMessage::Results(results) => {
                items.extend(results.iter().map(|result| output(result, request)));
            }
        }
    }
    items
}

fn assistant<'a>(
    provider: &str,
    model: &str,
    parts: &'a [ReplyPart],
    dropped: &mut DroppedContent,
    items: &mut Vec<ResponsesItem<'a>>,
) {
    let mut phase = None;
    for part in parts {
        match part {
            ReplyPart::Text { text } => {
                let content = ResponsesContent::Words(text);
                items.push(ResponsesItem::Known(ResponsesKnownItem::Message {
                    role: "assistant",
                    phase: phase.take(),
                    content,
                }));
            }
            ReplyPart::Call(call) => {
                items.push(ResponsesItem::Known(ResponsesKnownItem::FunctionCall {
                    call_id: call.id.as_str(),
                    name: &call.tool,
                    arguments: arguments(&call.input),
                }))
            }
            // Own thinking goes back as the opaque item it came in; the text beside it is for people.
            ReplyPart::Thinking { .. } if is_of(provider, model) => {}
            ReplyPart::Thinking { .. } => dropped.note(format!("the thinking of {model}")),
            ReplyPart::Opaque {
                provider: whose, ..
            } if whose != provider => {
                dropped.note(format!("what only {whose} understands"));
            }
            ReplyPart::Opaque { item, .. } if is_envelope(item) => phase = item.get("phase"),
            ReplyPart::Opaque { item, .. } if is_forgotten(item) => {}
            ReplyPart::Opaque { item, .. } => items.push(ResponsesItem::Opaque(item)),
        }
    }
}

/// A message without content: gives the phase of the text that follows.
fn is_envelope(item: &Value) -> bool {
    item.get("type").is_some_and(|kind| kind == "message") && item.get("content").is_none()
}

/// A thinking item with only an id. The vendor stores nothing, so it could not look it up.
fn is_forgotten(item: &Value) -> bool {
    let has = |key: &str| {
        item.get(key).is_some_and(|value| match value {
            Value::Null => false,
            Value::Array(items) => !items.is_empty(),
            Value::String(text) => !text.is_empty(),
            _ => true,
        })
    };
    item.get("type").is_some_and(|kind| kind == "reasoning")
        && !has("encrypted_content")
        && !has("content")
}

fn output<'a>(result: &'a ToolResult, request: &ModelRequest) -> ResponsesItem<'a> {
    let given = content_parts(&result.content, &request.media, &TAKES);
    let only_words = given
        .iter()
        .all(|piece| matches!(piece, OpenAiContent::Text(_)));
    let output = if only_words {
        let text = words(&given);
        let text = if text.is_empty() {
            "(no output)"
        } else {
            text.as_str()
        };
        ResponsesCallOutput::Words(format!("{}{text}", failure_prefix(result)))
    } else {
        let flag = Some(failure_prefix(result)).filter(|flag| !flag.is_empty());
        let flag = flag.map(|flag| ResponsesContentPart::Text {
            text: flag.trim_end().into(),
        });
        ResponsesCallOutput::Mixed(
            flag.into_iter()
                .chain(given.into_iter().map(ResponsesContentPart::from))
                .collect(),
        )
    };
    ResponsesItem::Known(ResponsesKnownItem::FunctionCallOutput {
        call_id: result.call.as_str(),
        output,
    })
}

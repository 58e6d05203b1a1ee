//! The conversation as Responses have it: a flat list of items.

use rooftree_protocol::{ToolResult, event::ReplyPart};
use serde::Serialize;
use serde_json::Value;

use crate::{
    ModelMessage, Request,
    media::{Dropped, is_of},
    openai::carry::{Piece, TAKES, arguments, flag, pieces, words},
};

/// One item of the input.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Item<'a> {
    Known(Known<'a>),
    /// The vendor's own, as it came.
    Opaque(&'a Value),
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Known<'a> {
    Message {
        role: &'static str,
        /// Whether this is on the way to the answer or the answer; the vendor wants it back.
        #[serde(skip_serializing_if = "Option::is_none")]
        phase: Option<&'a Value>,
        content: Said<'a>,
    },
    FunctionCall {
        call_id: &'a str,
        name: &'a str,
        arguments: String,
    },
    FunctionCallOutput {
        call_id: &'a str,
        output: Output<'a>,
    },
}

/// What was said. The model's own words go back as plain text: pieces of its own need ids, which only
/// the vendor could give.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Said<'a> {
    Words(&'a str),
    Mixed(Vec<Content<'a>>),
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Output<'a> {
    Words(String),
    Mixed(Vec<Content<'a>>),
}

#[derive(Debug, Serialize)]
#[serde(tag = "type")]
pub(super) enum Content<'a> {
    #[serde(rename = "input_text")]
    Text { text: std::borrow::Cow<'a, str> },
    #[serde(rename = "input_image")]
    Image { detail: &'static str, image_url: String },
    #[serde(rename = "input_file")]
    File { filename: &'a str, file_data: String },
}

impl<'a> From<Piece<'a>> for Content<'a> {
    fn from(piece: Piece<'a>) -> Self {
        match piece {
            Piece::Text(text) => Self::Text { text },
            Piece::Image(image_url) => Self::Image { detail: "auto", image_url },
            Piece::Document { name, url } => Self::File { filename: name, file_data: url },
        }
    }
}

/// The items of a request. What they begin with does not depend on what follows.
pub(super) fn items<'a>(provider: &str, request: &'a Request, dropped: &mut Dropped) -> Vec<Item<'a>> {
    let mut items = Vec::with_capacity(request.messages.len() * 2);
    for message in request.messages.iter() {
        match message.as_ref() {
            ModelMessage::User(parts) => {
                let content = pieces(parts, &request.media, &TAKES).into_iter().map(Content::from);
                let content = Said::Mixed(content.collect());
                items.push(Item::Known(Known::Message { role: "user", phase: None, content }));
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
    dropped: &mut Dropped,
    items: &mut Vec<Item<'a>>,
) {
    let mut phase = None;
    for part in parts {
        match part {
            ReplyPart::Text { text } => {
                let content = Said::Words(text);
                items.push(Item::Known(Known::Message { role: "assistant", phase: phase.take(), content }));
            }
            ReplyPart::Call(call) => items.push(Item::Known(Known::FunctionCall {
                call_id: call.id.as_str(),
                name: &call.tool,
                arguments: arguments(&call.input),
            })),
            // Own thinking goes back as the item it came in; the text beside it is for people.
            ReplyPart::Thinking { .. } if is_of(provider, model) => {}
            ReplyPart::Thinking { .. } => dropped.note(format!("the thinking of {model}")),
            ReplyPart::Opaque { provider: whose, .. } if whose != provider => {
                dropped.note(format!("what only {whose} understands"));
            }
            ReplyPart::Opaque { item, .. } if is_envelope(item) => phase = item.get("phase"),
            ReplyPart::Opaque { item, .. } if is_forgotten(item) => {}
            ReplyPart::Opaque { item, .. } => items.push(Item::Opaque(item)),
        }
    }
}

/// A message without content: says the phase of the text that follows.
fn is_envelope(item: &Value) -> bool {
    item.get("type").is_some_and(|kind| kind == "message") && item.get("content").is_none()
}

/// Thinking of which only a name is left. The vendor keeps nothing, so it could not look it up.
fn is_forgotten(item: &Value) -> bool {
    let has = |key: &str| {
        item.get(key).is_some_and(|value| match value {
            Value::Null => false,
            Value::Array(items) => !items.is_empty(),
            Value::String(text) => !text.is_empty(),
            _ => true,
        })
    };
    item.get("type").is_some_and(|kind| kind == "reasoning") && !has("encrypted_content") && !has("content")
}

fn output<'a>(result: &'a ToolResult, request: &Request) -> Item<'a> {
    let given = pieces(&result.content, &request.media, &TAKES);
    let only_words = given.iter().all(|piece| matches!(piece, Piece::Text(_)));
    let output = if only_words {
        let text = words(&given);
        let text = if text.is_empty() { "(no output)" } else { text.as_str() };
        Output::Words(format!("{}{text}", flag(result)))
    } else {
        let flag = Some(flag(result)).filter(|flag| !flag.is_empty());
        let flag = flag.map(|flag| Content::Text { text: flag.trim_end().into() });
        Output::Mixed(flag.into_iter().chain(given.into_iter().map(Content::from)).collect())
    };
    Item::Known(Known::FunctionCallOutput { call_id: result.call.as_str(), output })
}

//! Makes the wire's contents of a conversation. The same message always gives the same bytes.

use std::{borrow::Cow, collections::HashMap};

use rooftree_protocol::{Part as MessagePart, ToolCall, ToolResult, event::ReplyPart};
use serde::Serialize;
use serde_json::{Value, json};

use super::{generation::Generation, signature};
use crate::{
    Media, ModelMessage, Request,
    media::{self, Dropped, PDF, Shown, Takes},
};

/// What the wire takes. The vendor takes 20 MB for a whole request.
const TAKES: Takes = Takes {
    images: &["image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"],
    image_bytes: 14 * 1024 * 1024,
    documents: PDF,
    document_bytes: 14 * 1024 * 1024,
};

/// One message.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Content<'a> {
    role: &'static str,
    parts: Vec<Part<'a>>,
}

/// One part of a message: what it is, and the vendor's signature on it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Part<'a> {
    #[serde(flatten)]
    body: Body<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thought_signature: Option<&'a str>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", untagged)]
enum Body<'a> {
    Text {
        text: Cow<'a, str>,
    },
    Thought {
        text: &'a str,
        thought: bool,
    },
    #[serde(rename_all = "camelCase")]
    Image {
        inline_data: Inline<'a>,
    },
    #[serde(rename_all = "camelCase")]
    Call {
        function_call: Call<'a>,
    },
    #[serde(rename_all = "camelCase")]
    Response {
        function_response: Response<'a>,
    },
    /// An item of the vendor's own, as it came.
    Kept(&'a Value),
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Inline<'a> {
    mime_type: &'a str,
    data: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct Call<'a> {
    id: &'a str,
    name: &'a str,
    args: Cow<'a, Value>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct Response<'a> {
    id: &'a str,
    name: &'a str,
    response: Value,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    parts: Vec<Part<'a>>,
}

impl<'a> From<Body<'a>> for Part<'a> {
    fn from(body: Body<'a>) -> Self {
        Self { body, thought_signature: None }
    }
}

/// Who reads the contents.
pub(super) struct Reader<'a> {
    pub(super) provider: &'a str,
    pub(super) generation: Generation,
}

/// The conversation as contents. What is left empty is left out: the wire refuses it.
pub(super) fn contents<'a>(
    request: &'a Request,
    reader: &Reader<'_>,
    dropped: &mut Dropped,
) -> Vec<Content<'a>> {
    // Results say only which call they answer; the wire wants the tool's name as well.
    let mut tools: HashMap<&str, &str> = HashMap::new();
    let mut contents = Vec::with_capacity(request.messages.len());
    for message in request.messages.iter() {
        let content = match message.as_ref() {
            ModelMessage::User(parts) => Content { role: "user", parts: shown(parts, &request.media) },
            ModelMessage::Assistant { model, parts } => {
                let calls = parts.iter().filter_map(call_of);
                tools.extend(calls.map(|call| (call.id.as_str(), call.tool.as_str())));
                Content { role: "model", parts: spoken(parts, model, reader, dropped) }
            }
            ModelMessage::Results(results) => {
                let result = |result: &'a ToolResult| {
                    let name = tools.get(result.call.as_str()).copied().unwrap_or("unknown");
                    responded(result, name, reader.generation, &request.media)
                };
                Content { role: "user", parts: results.iter().flat_map(result).collect() }
            }
        };
        contents.push(content);
    }
    contents.retain(|content| !content.parts.is_empty());
    contents
}

fn call_of(part: &ReplyPart) -> Option<&ToolCall> {
    if let ReplyPart::Call(call) = part { Some(call) } else { None }
}

/// What somebody said.
fn shown<'a>(parts: &'a [MessagePart], media: &Media) -> Vec<Part<'a>> {
    let part = |part| match media::show(part, media, &TAKES) {
        Shown::Text("") => None,
        Shown::Text(text) => Some(Body::Text { text: text.into() }.into()),
        Shown::Words(words) => Some(Body::Text { text: words.into() }.into()),
        Shown::Image { media_type, base64 } | Shown::Document { media_type, base64, .. } => {
            Some(Body::Image { inline_data: Inline { mime_type: media_type, data: base64 } }.into())
        }
    };
    parts.iter().filter_map(part).collect()
}

/// What a tool gave: its text as the response, its images inside or, for older models, behind it.
fn responded<'a>(
    result: &'a ToolResult,
    name: &'a str,
    generation: Generation,
    media: &Media,
) -> Vec<Part<'a>> {
    let (texts, images): (Vec<Part<'a>>, Vec<Part<'a>>) =
        shown(&result.content, media).into_iter().partition(|part| matches!(part.body, Body::Text { .. }));
    let texts: Vec<&str> = texts
        .iter()
        .filter_map(|part| if let Body::Text { text } = &part.body { Some(text.as_ref()) } else { None })
        .collect();
    let key = if result.outcome.is_done() { "output" } else { "error" };
    let response = json!({ key: texts.join("\n") });
    let (parts, behind) = match generation {
        Generation::Level => (images, Vec::new()),
        Generation::Plain | Generation::Budget => (Vec::new(), images),
    };
    let function_response = Response { id: result.call.as_str(), name, response, parts };
    std::iter::once(Body::Response { function_response }.into()).chain(behind).collect()
}

/// What a model said. Thinking and items of another provider stay behind.
fn spoken<'a>(
    parts: &'a [ReplyPart],
    model: &str,
    reader: &Reader<'_>,
    dropped: &mut Dropped,
) -> Vec<Part<'a>> {
    let own = media::is_of(reader.provider, model);
    let mut spoken: Vec<Part<'a>> = Vec::with_capacity(parts.len());
    let mut signed: Option<&'a str> = None;
    // Calls made at the same time have one signature, on the first.
    let mut is_first_call = true;
    for part in parts {
        let body = match part {
            ReplyPart::Text { text } if text.is_empty() && signed.is_none() => continue,
            ReplyPart::Text { text } => Body::Text { text: text.into() },
            ReplyPart::Thinking { text, signature } if own => {
                signed = signature.as_deref();
                Body::Thought { text, thought: true }
            }
            ReplyPart::Thinking { .. } => {
                dropped.note(format!("the thinking of {model}"));
                continue;
            }
            ReplyPart::Call(call) => {
                if std::mem::take(&mut is_first_call) && reader.generation == Generation::Level {
                    signed = signed.or(Some(signature::FOREIGN));
                }
                Body::Call { function_call: called(call) }
            }
            ReplyPart::Opaque { provider, item } if provider == reader.provider => {
                if let Some(found) = signature::read(item) {
                    signed = Some(found);
                    continue;
                }
                Body::Kept(item)
            }
            ReplyPart::Opaque { provider, .. } => {
                dropped.note(format!("items only {provider} understands"));
                continue;
            }
        };
        // A kept item has its signature inside.
        let signature = signed.take().filter(|_| !matches!(body, Body::Kept(_)));
        spoken.push(Part { body, thought_signature: signature });
    }
    spoken
}

fn called(call: &ToolCall) -> Call<'_> {
    // The wire takes objects only; input that could not be read is kept as the text it was.
    let args = match &call.input {
        input @ Value::Object(_) => Cow::Borrowed(input),
        other => Cow::Owned(json!({ "input": other })),
    };
    Call { id: call.id.as_str(), name: &call.tool, args }
}

//! Encodes a conversation as Gemini contents. The same message always gives the same bytes.

use std::{borrow::Cow, collections::HashMap};

use rooftree_protocol::{Part as MessagePart, ToolCall, ToolResult, event::ReplyPart};
use serde::Serialize;
use serde_json::{Value, json};

use super::{generation::GeminiGeneration, signature};
use crate::{
    MediaBytes, ModelMessage, ModelRequest,
    media::{self, DroppedContent, EncodedPart, MediaLimits, PDF},
};

/// Media the API accepts. A whole request may have 20 MB.
const TAKES: MediaLimits = MediaLimits {
    images: &[
        "image/png",
        "image/jpeg",
        "image/webp",
        "image/heic",
        "image/heif",
    ],
    image_bytes: 14 * 1024 * 1024,
    documents: PDF,
    document_bytes: 14 * 1024 * 1024,
};

/// One message.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct GeminiContent<'a> {
    role: &'static str,
    parts: Vec<GeminiPart<'a>>,
}

/// One part of a message: its content, and the vendor's signature on it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct GeminiPart<'a> {
    #[serde(flatten)]
    body: GeminiPartBody<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thought_signature: Option<&'a str>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", untagged)]
enum GeminiPartBody<'a> {
    Text {
        text: Cow<'a, str>,
    },
    Thought {
        text: &'a str,
        thought: bool,
    },
    #[serde(rename_all = "camelCase")]
    Image {
        inline_data: GeminiInlineData<'a>,
    },
    #[serde(rename_all = "camelCase")]
    Call {
        function_call: GeminiFunctionCall<'a>,
    },
    #[serde(rename_all = "camelCase")]
    Response {
        function_response: GeminiFunctionResponse<'a>,
    },
    /// An opaque item of the vendor's, unchanged.
    Kept(&'a Value),
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct GeminiInlineData<'a> {
    mime_type: &'a str,
    data: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct GeminiFunctionCall<'a> {
    id: &'a str,
    name: &'a str,
    args: Cow<'a, Value>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct GeminiFunctionResponse<'a> {
    id: &'a str,
    name: &'a str,
    response: Value,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    parts: Vec<GeminiPart<'a>>,
}

impl<'a> From<GeminiPartBody<'a>> for GeminiPart<'a> {
    fn from(body: GeminiPartBody<'a>) -> Self {
        Self {
            body,
            thought_signature: None,
        }
    }
}

/// The model and provider that the contents are encoded for.
pub(super) struct GeminiTarget<'a> {
    pub(super) provider: &'a str,
    pub(super) generation: GeminiGeneration,
}

/// Encodes the conversation. Empty messages are left out: the API refuses them.
pub(super) fn encode_messages<'a>(
    request: &'a ModelRequest,
    reader: &GeminiTarget<'_>,
    dropped: &mut DroppedContent,
) -> Vec<GeminiContent<'a>> {
    // Results only name the call they answer; the API also needs the tool's name.
    let mut tools: HashMap<&str, &str> = HashMap::new();
    let mut contents = Vec::with_capacity(request.messages.len());
    for message in request.messages.iter() {
        let content = match message.as_ref() {
            ModelMessage::User(parts) => GeminiContent {
                role: "user",
                parts: shown(parts, &request.media),
            },
            ModelMessage::Assistant { model, parts } => {
                let calls = parts.iter().filter_map(call_of);
                tools.extend(calls.map(|call| (call.id.as_str(), call.tool.as_str())));
                GeminiContent {
                    role: "model",
                    parts: spoken(parts, model, reader, dropped),
                }
            }
            ModelMessage::Results(results) => {
                let result = |result: &'a ToolResult| {
                    let name = tools
                        .get(result.call.as_str())
                        .copied()
                        .unwrap_or("unknown");
                    responded(result, name, reader.generation, &request.media)
                };
                GeminiContent {
                    role: "user",
                    parts: results.iter().flat_map(result).collect(),
                }
            }
        };
        contents.push(content);
    }
    contents.retain(|content| !content.parts.is_empty());
    contents
}

fn call_of(part: &ReplyPart) -> Option<&ToolCall> {
    if let ReplyPart::Call(call) = part {
        Some(call)
    } else {
        None
    }
}

/// Encodes the parts of a user message.
fn shown<'a>(parts: &'a [MessagePart], media: &MediaBytes) -> Vec<GeminiPart<'a>> {
    let part = |part| match media::encode_part(part, media, &TAKES) {
        EncodedPart::Text("") => None,
        EncodedPart::Text(text) => Some(GeminiPartBody::Text { text: text.into() }.into()),
        EncodedPart::Words(words) => Some(GeminiPartBody::Text { text: words.into() }.into()),
        EncodedPart::Image { media_type, base64 }
        | EncodedPart::Document {
            media_type, base64, ..
        } => Some(
            GeminiPartBody::Image {
                inline_data: GeminiInlineData {
                    mime_type: media_type,
                    data: base64,
                },
            }
            .into(),
        ),
    };
    parts.iter().filter_map(part).collect()
}

/// Encodes a tool result: its text as the response, its images inside or, for older models, behind it.
fn responded<'a>(
    result: &'a ToolResult,
    name: &'a str,
    generation: GeminiGeneration,
    media: &MediaBytes,
) -> Vec<GeminiPart<'a>> {
    let (texts, images): (Vec<GeminiPart<'a>>, Vec<GeminiPart<'a>>) = shown(&result.content, media)
        .into_iter()
        .partition(|part| matches!(part.body, GeminiPartBody::Text { .. }));
    let texts: Vec<&str> = texts
        .iter()
        .filter_map(|part| {
            if let GeminiPartBody::Text { text } = &part.body {
                Some(text.as_ref())
            } else {
                None
            }
        })
        .collect();
    let key = if result.outcome.is_done() {
        "output"
    } else {
        "error"
    };
    let response = json!({ key: texts.join("\n") });
    let (parts, behind) = match generation {
        GeminiGeneration::Level => (images, Vec::new()),
        GeminiGeneration::Plain | GeminiGeneration::Budget => (Vec::new(), images),
    };
    let function_response = GeminiFunctionResponse {
        id: result.call.as_str(),
        name,
        response,
        parts,
    };
    std::iter::once(GeminiPartBody::Response { function_response }.into())
        .chain(behind)
        .collect()
}

/// Encodes an assistant message. Thinking and opaque items of another provider are left out.
fn spoken<'a>(
    parts: &'a [ReplyPart],
    model: &str,
    reader: &GeminiTarget<'_>,
    dropped: &mut DroppedContent,
) -> Vec<GeminiPart<'a>> {
    let own = media::is_of(reader.provider, model);
    let mut spoken: Vec<GeminiPart<'a>> = Vec::with_capacity(parts.len());
    let mut signed: Option<&'a str> = None;
    // Parallel calls have one signature, on the first.
    let mut is_first_call = true;
    for part in parts {
        let body = match part {
            ReplyPart::Text { text } if text.is_empty() && signed.is_none() => continue,
            ReplyPart::Text { text } => GeminiPartBody::Text { text: text.into() },
            ReplyPart::Thinking { text, signature } if own => {
                signed = signature.as_deref();
                GeminiPartBody::Thought {
                    text,
                    thought: true,
                }
            }
            ReplyPart::Thinking { .. } => {
                dropped.note(format!("the thinking of {model}"));
                continue;
            }
            ReplyPart::Call(call) => {
                if std::mem::take(&mut is_first_call)
                    && reader.generation == GeminiGeneration::Level
                {
                    signed = signed.or(Some(signature::FOREIGN));
                }
                GeminiPartBody::Call {
                    function_call: called(call),
                }
            }
            ReplyPart::Opaque { provider, item } if provider == reader.provider => {
                if let Some(found) = signature::read(item) {
                    signed = Some(found);
                    continue;
                }
                GeminiPartBody::Kept(item)
            }
            ReplyPart::Opaque { provider, .. } => {
                dropped.note(format!("items only {provider} understands"));
                continue;
            }
        };
        // A kept item has its signature inside.
        let signature = signed
            .take()
            .filter(|_| !matches!(body, GeminiPartBody::Kept(_)));
        spoken.push(GeminiPart {
            body,
            thought_signature: signature,
        });
    }
    spoken
}

fn called(call: &ToolCall) -> GeminiFunctionCall<'_> {
    // The API takes only objects; input that could not be parsed is kept as text.
    let args = match &call.input {
        input @ Value::Object(_) => Cow::Borrowed(input),
        other => Cow::Owned(json!({ "input": other })),
    };
    GeminiFunctionCall {
        id: call.id.as_str(),
        name: &call.tool,
        args,
    }
}

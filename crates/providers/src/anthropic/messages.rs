//! Encodes a conversation as Anthropic messages. The same message always gives the same bytes.

use std::borrow::Cow;

use rooftree_protocol::{Part, ToolCall, ToolResult, event::ReplyPart};
use serde::Serialize;
use serde_json::{Value, json};

use crate::{
    MediaBytes, ModelMessage, ModelRequest,
    media::{self, DroppedContent, EncodedPart, MediaLimits, PDF},
};

/// Media the API accepts. An image may have 5 MiB of base64, a document whatever fits into a request.
const TAKES: MediaLimits = MediaLimits {
    images: &["image/png", "image/jpeg", "image/gif", "image/webp"],
    image_bytes: 5 * 1024 * 1024 / 4 * 3,
    documents: PDF,
    document_bytes: 20_000_000,
};

/// One message.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct AnthropicMessage<'a> {
    role: &'static str,
    pub(super) content: Vec<AnthropicBlock<'a>>,
}

/// One block of a message.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum AnthropicBlock<'a> {
    Text {
        text: Cow<'a, str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        citations: Option<&'a Value>,
    },
    Image {
        source: AnthropicSource<'a>,
    },
    Document {
        source: AnthropicSource<'a>,
        title: &'a str,
    },
    Thinking {
        thinking: &'a str,
        signature: &'a str,
    },
    ToolUse {
        id: &'a str,
        name: &'a str,
        input: Cow<'a, Value>,
    },
    ToolResult {
        tool_use_id: &'a str,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        content: Vec<AnthropicBlock<'a>>,
    },
    /// An opaque item of the vendor's, unchanged.
    #[serde(untagged)]
    Kept(&'a Value),
}

/// The bytes of an image or a document.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct AnthropicSource<'a> {
    r#type: &'static str,
    media_type: &'a str,
    data: String,
}

/// Encodes the conversation. Empty messages are left out: the API refuses them.
pub(super) fn encode_messages<'a>(
    request: &'a ModelRequest,
    provider: &str,
    dropped: &mut DroppedContent,
) -> Vec<AnthropicMessage<'a>> {
    let message = |message: &'a ModelMessage| match message {
        ModelMessage::User(parts) => AnthropicMessage {
            role: "user",
            content: blocks(parts, &request.media),
        },
        ModelMessage::Results(results) => AnthropicMessage {
            role: "user",
            content: results
                .iter()
                .map(|result| tool_result(result, &request.media))
                .collect(),
        },
        ModelMessage::Assistant { model, parts } => AnthropicMessage {
            role: "assistant",
            content: spoken(parts, model, provider, dropped),
        },
    };
    let messages = request.messages.iter().map(AsRef::as_ref).map(message);
    messages
        .filter(|message| !message.content.is_empty())
        .collect()
}

/// Encodes the parts of a user message or a tool result.
fn blocks<'a>(parts: &'a [Part], media: &MediaBytes) -> Vec<AnthropicBlock<'a>> {
    let block = |part| match media::encode_part(part, media, &TAKES) {
        EncodedPart::Text(text) => text_block(text),
        EncodedPart::Words(words) => Some(AnthropicBlock::Text {
            text: words.into(),
            citations: None,
        }),
        EncodedPart::Image { media_type, base64 } => Some(AnthropicBlock::Image {
            source: AnthropicSource {
                r#type: "base64",
                media_type,
                data: base64,
            },
        }),
        EncodedPart::Document {
            name,
            media_type,
            base64,
        } => {
            let source = AnthropicSource {
                r#type: "base64",
                media_type,
                data: base64,
            };
            Some(AnthropicBlock::Document {
                source,
                title: name,
            })
        }
    };
    parts.iter().filter_map(block).collect()
}

fn tool_result<'a>(result: &'a ToolResult, media: &MediaBytes) -> AnthropicBlock<'a> {
    AnthropicBlock::ToolResult {
        tool_use_id: result.call.as_str(),
        is_error: !result.outcome.is_done(),
        content: blocks(&result.content, media),
    }
}

/// Encodes an assistant message. Thinking and opaque items of another provider are left out.
fn spoken<'a>(
    parts: &'a [ReplyPart],
    model: &str,
    provider: &str,
    dropped: &mut DroppedContent,
) -> Vec<AnthropicBlock<'a>> {
    let own = media::is_of(provider, model);
    let mut blocks = Vec::with_capacity(parts.len());
    // Citations are kept as an item of their own before the text they belong to.
    let mut citations = None;
    for part in parts {
        match part {
            ReplyPart::Text { text } => match text_block(text) {
                Some(AnthropicBlock::Text { text, .. }) => {
                    blocks.push(AnthropicBlock::Text {
                        text,
                        citations: citations.take(),
                    });
                }
                _ => citations = None,
            },
            ReplyPart::Thinking {
                text,
                signature: Some(signature),
            } if own && !signature.is_empty() => {
                blocks.push(AnthropicBlock::Thinking {
                    thinking: text,
                    signature,
                });
            }
            ReplyPart::Thinking { .. } => dropped.note(format!("the thinking of {model}")),
            ReplyPart::Call(call) => blocks.push(tool_use(call)),
            ReplyPart::Opaque {
                provider: owner,
                item,
            } if owner == provider => match alone(item) {
                Some(found) => citations = Some(found),
                None => blocks.push(AnthropicBlock::Kept(item)),
            },
            ReplyPart::Opaque {
                provider: owner, ..
            } => dropped.note(format!("items only {owner} understands")),
        }
    }
    blocks
}

fn tool_use(call: &ToolCall) -> AnthropicBlock<'_> {
    // The API takes only objects; input that could not be parsed is kept as text.
    let input = match &call.input {
        input @ Value::Object(_) => Cow::Borrowed(input),
        other => Cow::Owned(json!({ "input": other })),
    };
    AnthropicBlock::ToolUse {
        id: call.id.as_str(),
        name: &call.tool,
        input,
    }
}

fn text_block(text: &str) -> Option<AnthropicBlock<'_>> {
    (!text.trim().is_empty()).then_some(AnthropicBlock::Text {
        text: text.into(),
        citations: None,
    })
}

/// The citations in an item that holds nothing else.
fn alone(item: &Value) -> Option<&Value> {
    let fields = item.as_object().filter(|fields| fields.len() == 1)?;
    fields.get("citations")
}

//! Encodes a conversation for Chat Completions: a list of messages with roles.

use rooftree_protocol::{
    CallId, ToolCall, ToolResult, event::ReplyPart, reserved_tags::SURROUNDINGS,
};
use serde::Serialize;
use serde_json::{Map, Value};

use super::dialect::{CallIdFormat, ChatDialect, ThinkingField};
use crate::{
    ModelMessage, ModelRequest,
    media::{DroppedContent, MediaLimits, is_of},
    openai::request::{OpenAiContent, TAKES, arguments, content_parts, failure_prefix, words},
};

/// One message.
#[derive(Debug, Serialize)]
#[serde(tag = "role", rename_all = "lowercase")]
pub(super) enum ChatMessage<'a> {
    System {
        content: &'a str,
    },
    User {
        content: ChatContent,
    },
    Assistant(Box<ChatAssistantMessage<'a>>),
    Tool {
        tool_call_id: String,
        content: String,
    },
}

/// Content of an assistant message. Opaque fields are the vendor's own, sent back unchanged.
#[derive(Debug, Default, Serialize)]
pub(super) struct ChatAssistantMessage<'a> {
    content: Option<ChatContent>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_content: Option<String>,
    #[serde(flatten)]
    opaque: Map<String, Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<ChatToolCall<'a>>,
}

#[derive(Debug, Serialize)]
struct ChatToolCall<'a> {
    id: String,
    #[serde(rename = "type")]
    kind: &'static str,
    function: ChatFunctionCall<'a>,
}

#[derive(Debug, Serialize)]
struct ChatFunctionCall<'a> {
    name: &'a str,
    arguments: String,
}

/// Only text, or text and images.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum ChatContent {
    Words(String),
    Mixed(Vec<ChatContentPart>),
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum ChatContentPart {
    Text { text: String },
    ImageUrl { image_url: ChatImageUrl },
    File { file: ChatFileData },
    Thinking { thinking: Vec<ChatContentPart> },
}

#[derive(Debug, Serialize)]
pub(super) struct ChatImageUrl {
    url: String,
}

#[derive(Debug, Serialize)]
pub(super) struct ChatFileData {
    filename: String,
    file_data: String,
}

/// Encodes a conversation for one provider in its dialect.
pub(super) struct ChatMessageEncoder<'a> {
    pub(super) provider: &'a str,
    pub(super) dialect: ChatDialect,
    pub(super) dropped: DroppedContent,
}

/// A user's content, with the message about the day in front if that came just before: many chat templates refuse two
/// user messages in a row. What follows that message is always in the same request, so earlier bytes stay the same.
fn after_note(messages: &mut Vec<ChatMessage<'_>>, content: ChatContent) -> ChatContent {
    let note = messages.pop_if(|last| {
        matches!(last, ChatMessage::User { content: ChatContent::Words(text) } if text.starts_with(SURROUNDINGS))
    });
    let Some(ChatMessage::User {
        content: ChatContent::Words(note),
    }) = note
    else {
        return content;
    };
    match content {
        ChatContent::Words(text) => ChatContent::Words(format!("{note}\n\n{text}")),
        ChatContent::Mixed(mut parts) => {
            parts.insert(0, ChatContentPart::Text { text: note });
            ChatContent::Mixed(parts)
        }
    }
}

impl ChatMessageEncoder<'_> {
    /// Encodes the messages of a request. Earlier messages are encoded independently of later ones (prompt cache).
    pub(super) fn encode_messages<'r>(
        &mut self,
        request: &'r ModelRequest,
    ) -> Vec<ChatMessage<'r>> {
        let mut messages = Vec::with_capacity(request.messages.len() + 1);
        for message in request.messages.iter() {
            match message.as_ref() {
                ModelMessage::User(parts) => {
                    let pieces = content_parts(parts, &request.media, &self.takes());
                    let content = after_note(&mut messages, content(pieces));
                    messages.push(ChatMessage::User { content });
                }
                ModelMessage::Assistant { model, parts } => {
                    messages.extend(self.assistant(model, parts))
                }
                ModelMessage::Results(results) => self.results(results, request, &mut messages),
            }
        }
        messages
    }

    fn takes(&self) -> MediaLimits {
        if self.dialect.takes_documents {
            TAKES
        } else {
            MediaLimits {
                documents: &[],
                ..TAKES
            }
        }
    }

    fn assistant<'r>(&mut self, model: &str, parts: &'r [ReplyPart]) -> Option<ChatMessage<'r>> {
        let own = is_of(self.provider, model);
        let (mut text, mut thinking) = (String::new(), String::new());
        let mut message = ChatAssistantMessage::default();
        for part in parts {
            match part {
                ReplyPart::Text { text: more } => text.push_str(more),
                ReplyPart::Thinking { text: more, .. } if own => thinking.push_str(more),
                ReplyPart::Call(call) => message.tool_calls.push(self.call(call)),
                ReplyPart::Opaque {
                    provider,
                    item: Value::Object(fields),
                } if provider == self.provider => {
                    message.opaque.extend(fields.clone());
                }
                ReplyPart::Thinking { .. } => self.dropped.note(format!("the thinking of {model}")),
                ReplyPart::Opaque { provider, .. } => {
                    self.dropped
                        .note(format!("what only {provider} understands"));
                }
            }
        }
        if text.is_empty() && message.tool_calls.is_empty() {
            return None;
        }
        message.content = (!text.is_empty()).then_some(ChatContent::Words(text));
        self.give_thinking(&mut message, thinking);
        Some(ChatMessage::Assistant(Box::new(message)))
    }

    /// Sends a vendor's thinking back in the form it expects.
    fn give_thinking(&self, message: &mut ChatAssistantMessage<'_>, thinking: String) {
        match self.dialect.thinking {
            // An error if it is missing next to calls, even if there was no thinking.
            ThinkingField::ReasoningContent
                if !thinking.is_empty() || !message.tool_calls.is_empty() =>
            {
                message.reasoning_content = Some(thinking);
            }
            ThinkingField::ContentPiece if !thinking.is_empty() => {
                let thought = vec![ChatContentPart::Text { text: thinking }];
                let mut mixed = vec![ChatContentPart::Thinking { thinking: thought }];
                if let Some(ChatContent::Words(text)) = message.content.take() {
                    mixed.push(ChatContentPart::Text { text });
                }
                message.content = Some(ChatContent::Mixed(mixed));
            }
            _ => {}
        }
    }

    fn call<'r>(&self, call: &'r ToolCall) -> ChatToolCall<'r> {
        let function = ChatFunctionCall {
            name: &call.tool,
            arguments: arguments(&call.input),
        };
        ChatToolCall {
            id: self.call_id(&call.id),
            kind: "function",
            function,
        }
    }

    fn call_id(&self, id: &CallId) -> String {
        let text = id.as_str();
        match self.dialect.call_ids {
            CallIdFormat::Any => text.to_owned(),
            // The end of an id is its random part.
            CallIdFormat::Nine => {
                let plain: Vec<char> = text.chars().filter(char::is_ascii_alphanumeric).collect();
                plain.iter().skip(plain.len().saturating_sub(9)).collect()
            }
        }
    }

    /// Results as tool messages. Their images follow in a user message: tool messages hold only text.
    fn results<'r>(
        &self,
        results: &'r [ToolResult],
        request: &'r ModelRequest,
        messages: &mut Vec<ChatMessage<'r>>,
    ) {
        let mut shown = Vec::new();
        for result in results {
            let given = content_parts(&result.content, &request.media, &self.takes());
            let mut text = words(&given);
            if text.is_empty() {
                text = "(no text)".to_owned();
            }
            let id = self.call_id(&result.call);
            let content = format!("{}{text}", failure_prefix(result));
            messages.push(ChatMessage::Tool {
                tool_call_id: id.clone(),
                content,
            });
            let images = given
                .into_iter()
                .filter(|piece| !matches!(piece, OpenAiContent::Text(_)));
            let images: Vec<ChatContentPart> = images.map(ChatContentPart::from).collect();
            if !images.is_empty() {
                shown.push(ChatContentPart::Text {
                    text: format!("Images from the result of {id}:"),
                });
                shown.extend(images);
            }
        }
        if !shown.is_empty() {
            messages.push(ChatMessage::User {
                content: ChatContent::Mixed(shown),
            });
        }
    }
}

fn content(pieces: Vec<OpenAiContent<'_>>) -> ChatContent {
    if pieces
        .iter()
        .all(|piece| matches!(piece, OpenAiContent::Text(_)))
    {
        return ChatContent::Words(words(&pieces));
    }
    ChatContent::Mixed(pieces.into_iter().map(ChatContentPart::from).collect())
}

impl From<OpenAiContent<'_>> for ChatContentPart {
    fn from(piece: OpenAiContent<'_>) -> Self {
        match piece {
            OpenAiContent::Text(text) => Self::Text {
                text: text.into_owned(),
            },
            OpenAiContent::Image(url) => Self::ImageUrl {
                image_url: ChatImageUrl { url },
            },
            OpenAiContent::Document { name, url } => Self::File {
                file: ChatFileData {
                    filename: name.to_owned(),
                    file_data: url,
                },
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(text: &str) -> ChatMessage<'static> {
        ChatMessage::User {
            content: ChatContent::Words(text.to_owned()),
        }
    }

    #[test]
    fn the_message_about_the_day_is_no_second_user_message_in_a_row() {
        let note = format!("{SURROUNDINGS}>Today</system_message>");
        let mut messages = vec![user("before"), user(&note)];
        let content = after_note(&mut messages, ChatContent::Words("hello".into()));
        assert_eq!(
            serde_json::to_value(&content).unwrap(),
            format!("{note}\n\nhello")
        );
        assert_eq!(messages.len(), 1);
        let content = after_note(&mut messages, ChatContent::Words("hello".into()));
        assert_eq!(serde_json::to_value(&content).unwrap(), "hello");
        assert_eq!(messages.len(), 1, "what a person said stays apart");
    }
}

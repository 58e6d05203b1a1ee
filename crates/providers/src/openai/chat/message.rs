//! The conversation as Chat Completions have it: a list of messages with roles.

use rooftree_protocol::{CallId, ToolCall, ToolResult, event::ReplyPart};
use serde::Serialize;
use serde_json::{Map, Value};

use super::dialect::{CallIds, Dialect, ThinkingField};
use crate::{
    ModelMessage, Request,
    media::{Dropped, Takes, is_of},
    openai::carry::{Piece, TAKES, arguments, flag, pieces, words},
};

/// One message.
#[derive(Debug, Serialize)]
#[serde(tag = "role", rename_all = "lowercase")]
pub(super) enum Message<'a> {
    System { content: &'a str },
    User { content: Content },
    Assistant(Box<Assistant<'a>>),
    Tool { tool_call_id: String, content: String },
}

/// What an assistant message holds. Opaque fields are the vendor's own, given back as they came.
#[derive(Debug, Default, Serialize)]
pub(super) struct Assistant<'a> {
    content: Option<Content>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_content: Option<String>,
    #[serde(flatten)]
    opaque: Map<String, Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<Call<'a>>,
}

#[derive(Debug, Serialize)]
struct Call<'a> {
    id: String,
    #[serde(rename = "type")]
    kind: &'static str,
    function: Function<'a>,
}

#[derive(Debug, Serialize)]
struct Function<'a> {
    name: &'a str,
    arguments: String,
}

/// Words alone, or words and pictures.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Content {
    Words(String),
    Mixed(Vec<ContentPiece>),
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum ContentPiece {
    Text { text: String },
    ImageUrl { image_url: ImageUrl },
    File { file: FileData },
    Thinking { thinking: Vec<ContentPiece> },
}

#[derive(Debug, Serialize)]
pub(super) struct ImageUrl {
    url: String,
}

#[derive(Debug, Serialize)]
pub(super) struct FileData {
    filename: String,
    file_data: String,
}

/// Carries a conversation over, for one provider in its dialect.
pub(super) struct Carrier<'a> {
    pub(super) provider: &'a str,
    pub(super) dialect: Dialect,
    pub(super) dropped: Dropped,
}

impl Carrier<'_> {
    /// The messages of a request. What they begin with does not depend on what follows.
    pub(super) fn messages<'r>(&mut self, request: &'r Request) -> Vec<Message<'r>> {
        let mut messages = Vec::with_capacity(request.messages.len() + 1);
        for message in request.messages.iter() {
            match message.as_ref() {
                ModelMessage::User(parts) => {
                    let pieces = pieces(parts, &request.media, &self.takes());
                    messages.push(Message::User { content: content(pieces) });
                }
                ModelMessage::Assistant { model, parts } => messages.extend(self.assistant(model, parts)),
                ModelMessage::Results(results) => self.results(results, request, &mut messages),
            }
        }
        messages
    }

    fn takes(&self) -> Takes {
        if self.dialect.takes_documents { TAKES } else { Takes { documents: &[], ..TAKES } }
    }

    fn assistant<'r>(&mut self, model: &str, parts: &'r [ReplyPart]) -> Option<Message<'r>> {
        let own = is_of(self.provider, model);
        let (mut text, mut thinking) = (String::new(), String::new());
        let mut message = Assistant::default();
        for part in parts {
            match part {
                ReplyPart::Text { text: more } => text.push_str(more),
                ReplyPart::Thinking { text: more, .. } if own => thinking.push_str(more),
                ReplyPart::Call(call) => message.tool_calls.push(self.call(call)),
                ReplyPart::Opaque { provider, item: Value::Object(fields) } if provider == self.provider => {
                    message.opaque.extend(fields.clone());
                }
                ReplyPart::Thinking { .. } => self.dropped.note(format!("the thinking of {model}")),
                ReplyPart::Opaque { provider, .. } => {
                    self.dropped.note(format!("what only {provider} understands"));
                }
            }
        }
        if text.is_empty() && message.tool_calls.is_empty() {
            return None;
        }
        message.content = (!text.is_empty()).then_some(Content::Words(text));
        self.give_thinking(&mut message, thinking);
        Some(Message::Assistant(Box::new(message)))
    }

    /// Gives a vendor's thinking back the way it wants it.
    fn give_thinking(&self, message: &mut Assistant<'_>, thinking: String) {
        match self.dialect.thinking {
            // Missing next to calls it is an error, even for thoughts that were never thought.
            ThinkingField::ReasoningContent if !thinking.is_empty() || !message.tool_calls.is_empty() => {
                message.reasoning_content = Some(thinking);
            }
            ThinkingField::ContentPiece if !thinking.is_empty() => {
                let thought = vec![ContentPiece::Text { text: thinking }];
                let mut mixed = vec![ContentPiece::Thinking { thinking: thought }];
                if let Some(Content::Words(text)) = message.content.take() {
                    mixed.push(ContentPiece::Text { text });
                }
                message.content = Some(Content::Mixed(mixed));
            }
            _ => {}
        }
    }

    fn call<'r>(&self, call: &'r ToolCall) -> Call<'r> {
        let function = Function { name: &call.tool, arguments: arguments(&call.input) };
        Call { id: self.call_id(&call.id), kind: "function", function }
    }

    fn call_id(&self, id: &CallId) -> String {
        let text = id.as_str();
        match self.dialect.call_ids {
            CallIds::Any => text.to_owned(),
            // The end of an id is its random part.
            CallIds::Nine => {
                let plain: Vec<char> = text.chars().filter(char::is_ascii_alphanumeric).collect();
                plain.iter().skip(plain.len().saturating_sub(9)).collect()
            }
        }
    }

    /// Results as tool messages. Their pictures follow in a user message: tool messages hold words only.
    fn results<'r>(&self, results: &'r [ToolResult], request: &'r Request, messages: &mut Vec<Message<'r>>) {
        let mut shown = Vec::new();
        for result in results {
            let given = pieces(&result.content, &request.media, &self.takes());
            let mut text = words(&given);
            if text.is_empty() {
                text = "(no text)".to_owned();
            }
            let id = self.call_id(&result.call);
            let content = format!("{}{text}", flag(result));
            messages.push(Message::Tool { tool_call_id: id.clone(), content });
            let images = given.into_iter().filter(|piece| !matches!(piece, Piece::Text(_)));
            let images: Vec<ContentPiece> = images.map(ContentPiece::from).collect();
            if !images.is_empty() {
                shown.push(ContentPiece::Text { text: format!("Images from the result of {id}:") });
                shown.extend(images);
            }
        }
        if !shown.is_empty() {
            messages.push(Message::User { content: Content::Mixed(shown) });
        }
    }
}

fn content(pieces: Vec<Piece<'_>>) -> Content {
    if pieces.iter().all(|piece| matches!(piece, Piece::Text(_))) {
        return Content::Words(words(&pieces));
    }
    Content::Mixed(pieces.into_iter().map(ContentPiece::from).collect())
}

impl From<Piece<'_>> for ContentPiece {
    fn from(piece: Piece<'_>) -> Self {
        match piece {
            Piece::Text(text) => Self::Text { text: text.into_owned() },
            Piece::Image(url) => Self::ImageUrl { image_url: ImageUrl { url } },
            Piece::Document { name, url } => {
                Self::File { file: FileData { filename: name.to_owned(), file_data: url } }
            }
        }
    }
}

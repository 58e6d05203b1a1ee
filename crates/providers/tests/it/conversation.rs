//! Conversations for tests: short to write, and played turn by turn as the runtime does.

use std::sync::Arc;

use futures::StreamExt;
use rooftree_protocol::{ErrorCode, Outcome, Part, ToolCall, ToolResult, event::ReplyPart};
use rooftree_providers::{
    Error, ModelMessage, ModelReply, ModelRequest, Provider, ReplyChunk,
    scripted::{ScriptedModel, no_wait},
};

/// A script that does not wait.
pub fn script(text: &str) -> ScriptedModel {
    ScriptedModel::from_text("test.toml", text, no_wait())
        .unwrap_or_else(|problem| panic!("{problem:?}"))
}

/// A conversation in the making.
#[derive(Clone)]
pub struct Conversation {
    pub agent: &'static str,
    pub messages: Vec<Arc<ModelMessage>>,
    pub attempt: u32,
}

/// Nothing said yet.
pub fn with(agent: &'static str) -> Conversation {
    Conversation {
        agent,
        messages: Vec::new(),
        attempt: 0,
    }
}

impl Conversation {
    /// Adds a user message.
    pub fn user(mut self, text: &str) -> Self {
        self.messages
            .push(Arc::new(ModelMessage::User(vec![Part::text(text)])));
        self
    }

    /// The model has said something.
    pub fn said(self, text: &str) -> Self {
        self.replied(vec![ReplyPart::Text { text: text.into() }])
    }

    /// The model has answered.
    pub fn replied(mut self, parts: Vec<ReplyPart>) -> Self {
        self.messages.push(Arc::new(ModelMessage::Assistant {
            model: "scripted/test.toml".into(),
            parts,
        }));
        self
    }

    /// The calls of the last reply have ended so; a text that begins with `!` is a failure.
    pub fn results(mut self, texts: &[&str]) -> Self {
        let calls = self
            .messages
            .last()
            .map(|message| calls(message))
            .unwrap_or_default();
        let results = texts.iter().zip(calls).map(|(text, call)| ToolResult {
            call: call.id,
            outcome: if text.starts_with('!') {
                Outcome::Failed(ErrorCode::ToolFailed)
            } else {
                Outcome::Done
            },
            content: vec![Part::text(*text)],
        });
        let results = results.collect();
        self.messages.push(Arc::new(ModelMessage::Results(results)));
        self
    }

    /// The same question after so many failures.
    pub fn attempt(mut self, attempt: u32) -> Self {
        self.attempt = attempt;
        self
    }

    pub fn request(&self) -> ModelRequest {
        ModelRequest {
            model: "test.toml".into(),
            effort: None,
            agent: self.agent.into(),
            system: "You are a test.".into(),
            messages: self.messages.clone().into(),
            tools: Arc::new([]),
            tool_choice: rooftree_providers::ToolChoice::Auto,
            schema: None,
            max_output: None,
            media: rooftree_providers::MediaBytes::default(),
            session: rooftree_protocol::SessionId::from_entropy(1),
            attempt: self.attempt,
            workplace: Arc::default(),
        }
    }

    /// Everything the model streams.
    pub async fn chunks(&self, model: &ScriptedModel) -> Vec<Result<ReplyChunk, Error>> {
        model.stream(self.request()).collect().await
    }

    /// The whole reply, or why there is none.
    pub async fn ask(&self, model: &ScriptedModel) -> Result<ModelReply, Error> {
        let mut stream = model.stream(self.request());
        while let Some(chunk) = stream.next().await {
            if let ReplyChunk::Reply(reply) = chunk? {
                assert!(stream.next().await.is_none(), "the reply ends the stream");
                return Ok(reply);
            }
        }
        Err(Error::Broken("the stream ended without a reply".into()))
    }

    /// The text of the reply.
    pub async fn hear(&self, model: &ScriptedModel) -> String {
        text(
            &self
                .ask(model)
                .await
                .unwrap_or_else(|error| panic!("{error}")),
        )
    }

    /// Asks and keeps the reply, as the runtime does.
    pub async fn go_on(self, model: &ScriptedModel) -> Self {
        let reply = self
            .ask(model)
            .await
            .unwrap_or_else(|error| panic!("{error}"));
        self.replied(reply.parts)
    }
}

/// The text of a reply.
pub fn text(reply: &ModelReply) -> String {
    let texts = reply.parts.iter().filter_map(|part| match part {
        ReplyPart::Text { text } => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

/// The calls of a reply.
pub fn calls(message: &ModelMessage) -> Vec<ToolCall> {
    let ModelMessage::Assistant { parts, .. } = message else {
        return Vec::new();
    };
    let calls = parts.iter().filter_map(|part| match part {
        ReplyPart::Call(call) => Some(call.clone()),
        _ => None,
    });
    calls.collect()
}

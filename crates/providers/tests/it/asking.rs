//! Asks a model over a wire and keeps everything that comes.

use std::{collections::HashMap, sync::Arc};

use futures::StreamExt;
use rooftree_protocol::{
    BlobId, CallId, ModelChoice, Outcome, Part, SessionId, ToolCall, ToolResult, ToolSpec,
    event::ReplyPart,
};
use rooftree_providers::{
    Error, Model, ModelMessage, ModelReply, ModelRequest, Provider, ReplyChunk, ToolChoice,
    anthropic,
    catalog::ModelOpener,
    gemini,
    http::{HttpClient, HttpTimeouts, Secret},
    openai,
};
use rooftree_testkit::model_server::{ModelServer, say};
use serde_json::{Value, json};

/// A wire under test.
#[derive(Clone, Copy)]
pub struct Wire {
    pub name: &'static str,
    pub server: rooftree_testkit::model_server::ServerWire,
    pub opener: fn(&str, HttpClient) -> ModelOpener,
}

pub const ANTHROPIC: Wire = Wire {
    name: "anthropic",
    server: rooftree_testkit::model_server::anthropic::WIRE,
    opener: |url, client| {
        let options = anthropic::AnthropicOptions::new(client, Secret::fixed("sk-test"));
        anthropic::opener(anthropic::AnthropicOptions {
            base_url: url.to_owned(),
            ..options
        })
    },
};

pub const GEMINI: Wire = Wire {
    name: "google",
    server: rooftree_testkit::model_server::gemini::WIRE,
    opener: |url, client| {
        let options = gemini::GeminiOptions::new(client, Secret::fixed("sk-test"));
        gemini::opener(gemini::GeminiOptions {
            base_url: url.to_owned(),
            ..options
        })
    },
};

pub const CHAT: Wire = Wire {
    name: "openai-chat",
    server: rooftree_testkit::model_server::openai_chat::WIRE,
    opener: |url, client| {
        openai::chat::opener(client, openai_endpoint(url), openai::ChatDialect::OPENAI)
    },
};

pub const RESPONSES: Wire = Wire {
    name: "openai",
    server: rooftree_testkit::model_server::openai_responses::WIRE,
    opener: |url, client| openai::responses::opener(client, openai_endpoint(url), Arc::default()),
};

/// All wires.
pub const WIRES: [Wire; 4] = [ANTHROPIC, GEMINI, CHAT, RESPONSES];

fn openai_endpoint(url: &str) -> openai::OpenAiEndpoint {
    openai::OpenAiEndpoint::new("openai", url).keyed(Secret::fixed("sk-test"), "OPENAI_API_KEY")
}

impl Wire {
    /// A model of this wire behind this address.
    pub fn model(&self, url: &str) -> Model {
        self.model_waiting(url, HttpTimeouts::default())
    }

    pub fn model_waiting(&self, url: &str, timeouts: HttpTimeouts) -> Model {
        let choice = ModelChoice {
            provider: self.name.into(),
            model: "m".into(),
            effort: None,
        };
        (self.opener)(url, HttpClient::new(timeouts).unwrap())(&choice).unwrap()
    }
}

/// A question with one message.
pub fn question(text: &str) -> ModelRequest {
    conversation(vec![user(text)])
}

pub fn conversation(messages: Vec<ModelMessage>) -> ModelRequest {
    ModelRequest {
        model: "m".into(),
        effort: None,
        agent: "main".into(),
        system: "Be brief.".into(),
        messages: Arc::new(messages.into_iter().map(Arc::new).collect()),
        tools: Arc::new([]),
        tool_choice: ToolChoice::Auto,
        schema: None,
        max_output: None,
        media: Arc::default(),
        session: SessionId::from_entropy(1),
        attempt: 0,
        workplace: Arc::default(),
    }
}

pub fn user(text: &str) -> ModelMessage {
    ModelMessage::User(vec![Part::text(text)])
}

pub fn assistant(model: &str, parts: Vec<ReplyPart>) -> ModelMessage {
    ModelMessage::Assistant {
        model: model.into(),
        parts,
    }
}

pub fn call(number: u128, tool: &str, input: Value) -> ReplyPart {
    ReplyPart::Call(ToolCall {
        id: CallId::from_entropy(number),
        tool: tool.into(),
        input,
    })
}

pub fn result(number: u128, outcome: Outcome, content: Vec<Part>) -> ToolResult {
    ToolResult {
        call: CallId::from_entropy(number),
        outcome,
        content,
    }
}

pub fn tool(name: &str) -> ToolSpec {
    ToolSpec {
        name: name.into(),
        description: format!("{name}s something."),
        input_schema: json!({"type": "object", "properties": {"path": {"type": "string"}}}),
    }
}

/// An image, and the media that has its bytes.
pub fn image() -> (Part, rooftree_providers::MediaBytes) {
    let blob = BlobId::from_digest(b"picture");
    let part = Part::Image {
        blob: blob.clone(),
        media_type: "image/png".into(),
        bytes: 3,
    };
    (part, Arc::new(HashMap::from([(blob, Arc::from(*b"abc"))])))
}

/// Asks on a wire and gives the body that was sent, and what was left out.
pub async fn sent(wire: Wire, request: ModelRequest) -> (Value, Vec<String>) {
    let server = ModelServer::start(wire.server, [say().text(["ok"])]).await;
    let reply = ask(&wire.model(&server.url()), request).await.1.unwrap();
    (server.requests().remove(0).json(), reply.dropped)
}

pub async fn ask(
    model: &Model,
    request: ModelRequest,
) -> (Vec<ReplyChunk>, Result<ModelReply, Error>) {
    listen(model.provider.as_ref(), request).await
}

/// Everything that comes, the reply or the error apart. Checks the contract of the stream on the way.
pub async fn listen(
    provider: &dyn Provider,
    request: ModelRequest,
) -> (Vec<ReplyChunk>, Result<ModelReply, Error>) {
    let mut stream = provider.stream(request);
    let mut chunks = Vec::new();
    let mut outcome = None;
    while let Some(item) = stream.next().await {
        assert!(outcome.is_none(), "something came behind the end: {item:?}");
        match item {
            Ok(ReplyChunk::Reply(reply)) => outcome = Some(Ok(reply)),
            Ok(chunk) => chunks.push(chunk),
            Err(error) => outcome = Some(Err(error)),
        }
    }
    (
        chunks,
        outcome.unwrap_or_else(|| panic!("the stream ended without a word")),
    )
}

/// The text of all text deltas.
pub fn said(chunks: &[ReplyChunk]) -> String {
    chunks
        .iter()
        .filter_map(|chunk| {
            if let ReplyChunk::Text(text) = chunk {
                Some(text.as_str())
            } else {
                None
            }
        })
        .collect()
}

/// Asserts that a body goes on where another one stops being the same: at the end of its messages.
pub fn assert_extends(shorter: &[u8], longer: &[u8]) {
    let shared = shorter
        .strip_suffix(b"]}")
        .unwrap_or_else(|| panic!("messages are not last"));
    assert!(
        longer.starts_with(shared),
        "{}\ndoes not begin with\n{}",
        String::from_utf8_lossy(longer),
        String::from_utf8_lossy(shared)
    );
}

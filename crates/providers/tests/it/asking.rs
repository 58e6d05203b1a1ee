<<<<<<< HEAD
//! How tests ask a model server: a request to change, and an answer taken apart.

use std::{sync::Arc, time::Duration};

use futures::StreamExt;
use rooftree_protocol::{CallId, Outcome, Part, SessionId, ToolCall, ToolResult, ToolSpec, event::ReplyPart};
use rooftree_providers::{
    Chunk, Error, Media, ModelMessage, Provider, Reply, Request, ToolChoice,
    http::{Client, Timeouts},
};
use serde_json::{Value, json};

pub(crate) fn client() -> Client {
    Client::new(Timeouts::default()).unwrap()
}

/// Waits for nothing longer than a moment.
pub(crate) fn impatient() -> Client {
    let moment = Duration::from_millis(60);
    let timeouts = Timeouts { first_byte: moment, between_events: moment, ..Timeouts::default() };
    client().with_timeouts(timeouts)
}

/// "Hi" to a model called `m`, with no tools.
pub(crate) fn request() -> Request {
    Request {
        model: "m".into(),
        effort: None,
        agent: "lead".into(),
        system: "Be brief.".into(),
        messages: vec![user("Hi")],
        tools: Arc::from([]),
        tool_choice: ToolChoice::Auto,
        schema: None,
        max_output: None,
        media: Media::default(),
        session: SessionId::from_entropy(7),
=======
//! Asks a model over a wire and keeps everything that comes.

use std::{collections::HashMap, sync::Arc};

use futures::StreamExt;
use rooftree_protocol::{
    BlobId, CallId, ModelChoice, Outcome, Part, SessionId, ToolCall, ToolResult, ToolSpec, event::ReplyPart,
};
use rooftree_providers::{
    Chunk, Error, Model, ModelMessage, Reply, Request, ToolChoice, anthropic,
    catalog::Opener,
    gemini,
    http::{Client, Secret, Timeouts},
};
use serde_json::{Value, json};

/// A wire under test.
#[derive(Clone, Copy)]
pub struct Wire {
    pub name: &'static str,
    pub server: rooftree_testkit::model_server::Wire,
    pub opener: fn(&str, Client) -> Opener,
}

pub const ANTHROPIC: Wire = Wire {
    name: "anthropic",
    server: rooftree_testkit::model_server::anthropic::WIRE,
    opener: |url, client| {
        let options = anthropic::Options::new(client, Secret::fixed("sk-test"));
        anthropic::opener(anthropic::Options { base_url: url.to_owned(), ..options })
    },
};

pub const GEMINI: Wire = Wire {
    name: "google",
    server: rooftree_testkit::model_server::gemini::WIRE,
    opener: |url, client| {
        let options = gemini::Options::new(client, Secret::fixed("sk-test"));
        gemini::opener(gemini::Options { base_url: url.to_owned(), ..options })
    },
};

impl Wire {
    /// A model of this wire behind this address.
    pub fn model(&self, url: &str) -> Model {
        self.model_waiting(url, Timeouts::default())
    }

    pub fn model_waiting(&self, url: &str, timeouts: Timeouts) -> Model {
        let choice = ModelChoice { provider: self.name.into(), model: "m".into(), effort: None };
        (self.opener)(url, Client::new(timeouts).unwrap())(&choice).unwrap()
    }
}

/// A question with one message.
pub fn question(text: &str) -> Request {
    conversation(vec![user(text)])
}

pub fn conversation(messages: Vec<ModelMessage>) -> Request {
    Request {
        model: "m".into(),
        effort: None,
        agent: "main".into(),
        system: "Be brief.".into(),
        messages: messages.into_iter().map(Arc::new).collect(),
        tools: Arc::new([]),
        tool_choice: ToolChoice::Auto,
        schema: None,
        max_output: None,
        media: Arc::default(),
        session: SessionId::from_entropy(1),
>>>>>>> wires1
        attempt: 0,
    }
}

<<<<<<< HEAD
pub(crate) fn tools() -> Arc<[ToolSpec]> {
    let input_schema = json!({"type": "object", "properties": {"path": {"type": "string"}}});
    Arc::from([ToolSpec { name: "Read".into(), description: "Reads a file.".into(), input_schema }])
}

pub(crate) fn user(text: &str) -> Arc<ModelMessage> {
    Arc::new(ModelMessage::User(vec![Part::text(text)]))
}

pub(crate) fn assistant(model: &str, parts: Vec<ReplyPart>) -> Arc<ModelMessage> {
    Arc::new(ModelMessage::Assistant { model: model.into(), parts })
}

pub(crate) fn text(text: &str) -> ReplyPart {
    ReplyPart::Text { text: text.into() }
}

pub(crate) fn thinking(text: &str) -> ReplyPart {
    ReplyPart::Thinking { text: text.into(), signature: None }
}

pub(crate) fn call_id(number: u128) -> CallId {
    CallId::from_entropy(number)
}

pub(crate) fn call(number: u128, input: Value) -> ReplyPart {
    ReplyPart::Call(ToolCall { id: call_id(number), tool: "Read".into(), input })
}

pub(crate) fn result(number: u128, outcome: Outcome, content: Vec<Part>) -> ToolResult {
    ToolResult { call: call_id(number), outcome, content }
}

pub(crate) fn results(results: Vec<ToolResult>) -> Arc<ModelMessage> {
    Arc::new(ModelMessage::Results(results))
}

/// Asks: all deltas, and the reply or why there is none.
pub(crate) async fn ask(provider: &dyn Provider, request: Request) -> (Vec<Chunk>, Result<Reply, Error>) {
    let mut stream = provider.stream(request);
    let mut deltas = Vec::new();
    while let Some(chunk) = stream.next().await {
        match chunk {
            Ok(Chunk::Reply(reply)) => {
                assert!(stream.next().await.is_none(), "the reply is the last thing");
                return (deltas, Ok(reply));
            }
            Ok(delta) => deltas.push(delta),
            Err(error) => {
                assert!(stream.next().await.is_none(), "an error is the last thing");
                return (deltas, Err(error));
            }
        }
    }
    panic!("the stream ended without a reply or an error: {deltas:?}");
}

/// The text of some deltas.
pub(crate) fn said(deltas: &[Chunk]) -> String {
    deltas
        .iter()
        .filter_map(|delta| if let Chunk::Text(text) = delta { Some(text.as_str()) } else { None })
        .collect()
}

/// The calls of a reply: tool and input.
pub(crate) fn calls(reply: &Reply) -> Vec<(String, Value)> {
    let call = |part: &ReplyPart| match part {
        ReplyPart::Call(call) => Some((call.tool.clone(), call.input.clone())),
        _ => None,
    };
    reply.parts.iter().filter_map(call).collect()
}

/// The deltas of calls: index, tool, text.
pub(crate) fn inputs(deltas: &[Chunk]) -> Vec<(usize, String, String)> {
    let input = |delta: &Chunk| match delta {
        Chunk::ToolInput { index, tool, text } => Some((*index, tool.clone(), text.clone())),
        _ => None,
    };
    deltas.iter().filter_map(input).collect()
}

/// What the body of the next turn must begin with: everything of this one but its closing brackets.
pub(crate) fn shared(body: &[u8]) -> &[u8] {
    body.strip_suffix(b"]}").unwrap()
=======
pub fn user(text: &str) -> ModelMessage {
    ModelMessage::User(vec![Part::text(text)])
}

pub fn assistant(model: &str, parts: Vec<ReplyPart>) -> ModelMessage {
    ModelMessage::Assistant { model: model.into(), parts }
}

pub fn call(number: u128, tool: &str, input: Value) -> ReplyPart {
    ReplyPart::Call(ToolCall { id: CallId::from_entropy(number), tool: tool.into(), input })
}

pub fn result(number: u128, outcome: Outcome, content: Vec<Part>) -> ToolResult {
    ToolResult { call: CallId::from_entropy(number), outcome, content }
}

pub fn tool(name: &str) -> ToolSpec {
    ToolSpec {
        name: name.into(),
        description: format!("{name}s something."),
        input_schema: json!({"type": "object", "properties": {"path": {"type": "string"}}}),
    }
}

/// An image, and the media that has its bytes.
pub fn image() -> (Part, rooftree_providers::Media) {
    let blob = BlobId::from_digest(b"picture");
    let part = Part::Image { blob: blob.clone(), media_type: "image/png".into(), bytes: 3 };
    (part, Arc::new(HashMap::from([(blob, Arc::from(*b"abc"))])))
}

/// Everything that comes, the reply or the error apart. Checks the contract of the stream on the way.
pub async fn ask(model: &Model, request: Request) -> (Vec<Chunk>, Result<Reply, Error>) {
    let mut stream = model.provider.stream(request);
    let mut chunks = Vec::new();
    let mut outcome = None;
    while let Some(item) = stream.next().await {
        assert!(outcome.is_none(), "something came behind the end: {item:?}");
        match item {
            Ok(Chunk::Reply(reply)) => outcome = Some(Ok(reply)),
            Ok(chunk) => chunks.push(chunk),
            Err(error) => outcome = Some(Err(error)),
        }
    }
    (chunks, outcome.unwrap_or_else(|| panic!("the stream ended without a word")))
}

/// The text of all text deltas.
pub fn said(chunks: &[Chunk]) -> String {
    chunks
        .iter()
        .filter_map(|chunk| if let Chunk::Text(text) = chunk { Some(text.as_str()) } else { None })
        .collect()
}

/// Asserts that a body goes on where another one stops being the same: at the end of its messages.
pub fn assert_extends(shorter: &[u8], longer: &[u8]) {
    let shared = shorter.strip_suffix(b"]}").unwrap_or_else(|| panic!("messages are not last"));
    assert!(
        longer.starts_with(shared),
        "{}\ndoes not begin with\n{}",
        String::from_utf8_lossy(longer),
        String::from_utf8_lossy(shared)
    );
>>>>>>> wires1
}

//! What tests of OpenAI's wires ask with: a request to change, and an answer taken apart.

use std::sync::Arc;

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

/// "Hi" to a model called `m`, with no tools.
pub(crate) fn request() -> Request {
    Request {
        model: "m".into(),
        effort: None,
        agent: "lead".into(),
        system: "Be brief.".into(),
        messages: vec![user("Hi")].into(),
        tools: Arc::from([]),
        tool_choice: ToolChoice::Auto,
        schema: None,
        max_output: None,
        media: Media::default(),
        session: SessionId::from_entropy(7),
        attempt: 0,
        workplace: Arc::default(),
    }
}

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

//! Helpers for tests of OpenAI's APIs: a request to modify, and a decoded answer.

use std::sync::Arc;

use rooftree_protocol::{CallId, SessionId, ToolResult, ToolSpec, event::ReplyPart};
use rooftree_providers::{
    ModelMessage, ModelReply, ModelRequest, ReplyChunk,
    http::{HttpClient, HttpTimeouts},
};
use serde_json::{Value, json};

use crate::asking;
pub(crate) use crate::asking::{listen as ask, result};

pub(crate) fn client() -> HttpClient {
    HttpClient::new(HttpTimeouts::default()).unwrap()
}

/// "Hi" to a model called `m`, with no tools.
pub(crate) fn request() -> ModelRequest {
    ModelRequest {
        agent: "lead".into(),
        session: SessionId::from_entropy(7),
        ..asking::question("Hi")
    }
}

pub(crate) fn tools() -> Arc<[ToolSpec]> {
    let input_schema = json!({"type": "object", "properties": {"path": {"type": "string"}}});
    Arc::from([ToolSpec {
        name: "Read".into(),
        description: "Reads a file.".into(),
        input_schema,
    }])
}

pub(crate) fn user(text: &str) -> Arc<ModelMessage> {
    Arc::new(asking::user(text))
}

pub(crate) fn assistant(model: &str, parts: Vec<ReplyPart>) -> Arc<ModelMessage> {
    Arc::new(asking::assistant(model, parts))
}

pub(crate) fn text(text: &str) -> ReplyPart {
    ReplyPart::Text { text: text.into() }
}

pub(crate) fn thinking(text: &str) -> ReplyPart {
    ReplyPart::Thinking {
        text: text.into(),
        signature: None,
    }
}

pub(crate) fn call_id(number: u128) -> CallId {
    CallId::from_entropy(number)
}

pub(crate) fn call(number: u128, input: Value) -> ReplyPart {
    asking::call(number, "Read", input)
}

pub(crate) fn results(results: Vec<ToolResult>) -> Arc<ModelMessage> {
    Arc::new(ModelMessage::Results(results))
}

/// The calls of a reply: tool and input.
pub(crate) fn calls(reply: &ModelReply) -> Vec<(String, Value)> {
    let call = |part: &ReplyPart| match part {
        ReplyPart::Call(call) => Some((call.tool.clone(), call.input.clone())),
        _ => None,
    };
    reply.parts.iter().filter_map(call).collect()
}

/// The deltas of calls: index, tool, text.
pub(crate) fn inputs(deltas: &[ReplyChunk]) -> Vec<(usize, String, String)> {
    let input = |delta: &ReplyChunk| match delta {
        ReplyChunk::ToolInput { index, tool, text } => Some((*index, tool.clone(), text.clone())),
        _ => None,
    };
    deltas.iter().filter_map(input).collect()
}

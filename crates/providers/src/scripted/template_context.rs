//! Variables of templates: the conversation, looked up lazily when a template uses it.

use std::sync::Arc;

use minijinja::value::{Object, Serde, Value};
use rooftree_protocol::{Outcome, ToolCall, ToolResult, event::ReplyPart};
use serde::Serialize;

use crate::{ModelMessage, ModelRequest};

use super::conversation::text;

/// A request as the variables of a template. Nothing is copied until it is used.
#[derive(Debug)]
pub(crate) struct TemplateContext {
    pub(crate) request: Arc<ModelRequest>,
    pub(crate) turn: u32,
}

/// A tool's result with the call it belongs to.
#[derive(Serialize)]
struct TemplateResult<'a> {
    text: String,
    ok: bool,
    outcome: Outcome,
    tool: &'a str,
    input: &'a serde_json::Value,
}

/// A call as templates see it.
#[derive(Serialize)]
struct TemplateCall<'a> {
    tool: &'a str,
    input: &'a serde_json::Value,
}

/// A message to the model.
#[derive(Serialize)]
struct TemplateMessage<'a> {
    text: &'a str,
    ok: bool,
}

impl Object for TemplateContext {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        Some(match key.as_str()? {
            "agent" => Value::from(&*self.request.agent),
            "turn" => Value::from(self.turn),
            "attempt" => Value::from(self.request.attempt),
            "user" => self.user()?,
            "last" => heard(self.request.messages.last()?),
            "results" => self.results(),
            "all" => self.all(),
            "calls" => self.calls(),
            "tools" => Value::from_iter(self.request.tools.iter().map(|tool| tool.name.as_str())),
            _ => return None,
        })
    }
}

impl TemplateContext {
    /// All variable names.
    pub(crate) const VARIABLES: [&'static str; 9] = [
        "agent", "turn", "attempt", "user", "last", "results", "all", "calls", "tools",
    ];

    fn user(&self) -> Option<Value> {
        let user = self
            .request
            .messages
            .iter()
            .rev()
            .find(|message| matches!(&***message, ModelMessage::User(_)))?;
        Some(heard(user))
    }

    /// The results of the newest turn that has any.
    fn results(&self) -> Value {
        let last = self
            .request
            .messages
            .iter()
            .rposition(|message| matches!(&**message, ModelMessage::Results(_)));
        Value::from_iter(last.into_iter().flat_map(|index| self.results_at(index)))
    }

    fn all(&self) -> Value {
        Value::from_iter((0..self.request.messages.len()).flat_map(|index| self.results_at(index)))
    }

    fn calls(&self) -> Value {
        let calls = self.calls_before(self.request.messages.len());
        let asked = calls.iter().map(|call| {
            Value::from(Serde(TemplateCall {
                tool: &call.tool,
                input: &call.input,
            }))
        });
        Value::from_iter(asked)
    }

    fn results_at(&self, index: usize) -> Vec<Value> {
        let Some(ModelMessage::Results(results)) =
            self.request.messages.get(index).map(|message| &**message)
        else {
            return Vec::new();
        };
        let calls = self.calls_before(index);
        results.iter().map(|result| seen(result, &calls)).collect()
    }

    /// The calls of the newest reply before a message.
    fn calls_before(&self, index: usize) -> Vec<&ToolCall> {
        let before = self.request.messages.iter().take(index).rev();
        let reply = before.filter_map(|message| match &**message {
            ModelMessage::Assistant { parts, .. } => Some(parts),
            _ => None,
        });
        let parts = reply.into_iter().next().into_iter().flatten();
        parts
            .filter_map(|part| {
                if let ReplyPart::Call(call) = part {
                    Some(call)
                } else {
                    None
                }
            })
            .collect()
    }
}

fn seen(result: &ToolResult, calls: &[&ToolCall]) -> Value {
    let call = calls.iter().find(|call| call.id == result.call);
    Value::from(Serde(TemplateResult {
        text: result.text(),
        ok: result.outcome.is_done(),
        outcome: result.outcome,
        tool: call.map_or("", |call| &call.tool),
        input: call.map_or(&serde_json::Value::Null, |call| &call.input),
    }))
}

fn heard(message: &ModelMessage) -> Value {
    let ok = match message {
        ModelMessage::Results(results) => results.iter().all(|result| result.outcome.is_done()),
        _ => true,
    };
    Value::from(Serde(TemplateMessage {
        text: &text(message),
        ok,
    }))
}

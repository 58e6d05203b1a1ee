//! JSON form of a request for comparison: everything that can change its answer, and nothing else.

use rooftree_protocol::ModelChoice;
use serde_json::{Value, json};

use crate::{ModelMessage, ModelRequest, ToolChoice};

/// Serializes a request. Its session is left out, which is only a name; so are the bytes of images,
/// whose ids in the conversation are digests of their content.
pub(super) fn spell(choice: &ModelChoice, request: &ModelRequest) -> Value {
    json!({
        "model": choice.to_string(),
        "agent": request.agent,
        "system": request.system,
        "tools": request.tools,
        "tool_choice": tool_choice(&request.tool_choice),
        "schema": request.schema,
        "max_output": request.max_output,
        "attempt": request.attempt,
        "messages": request.messages.iter().map(|message| spell_message(message)).collect::<Vec<_>>(),
    })
}

fn tool_choice(choice: &ToolChoice) -> Value {
    match choice {
        ToolChoice::Auto => "auto".into(),
        ToolChoice::Nothing => "nothing".into(),
        ToolChoice::Something => "something".into(),
        ToolChoice::This(tool) => json!({ "this": tool }),
    }
}

fn spell_message(message: &ModelMessage) -> Value {
    match message {
        ModelMessage::User(parts) => json!({ "user": parts }),
        ModelMessage::Assistant { model, parts } => json!({ "assistant": parts, "model": model }),
        ModelMessage::Results(results) => json!({ "results": results }),
    }
}

//! A tool call, as a model or a program requests it. Messages carry it too, so it is separate from results.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::CallId;

/// One wish of a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolCall {
    /// Its name, given by the runtime when the reply arrives.
    pub id: CallId,
    /// The tool, as the model called it; resolved to a canonical name when it is made.
    pub tool: String,
    /// Its arguments.
    pub input: Value,
}

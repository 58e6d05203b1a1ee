//! Wire format of the call socket: one line of JSON each way, one call per connection.

use rooftree_protocol::{ErrorCode, Outcome};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::exposure::CommandFlag;

/// Bytes a request may have.
pub const FRAME: usize = 1024 * 1024;

/// A wish to have a tool called.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallSocketRequest {
    /// From which call it comes.
    pub token: String,
    /// The tool, by any of its names.
    pub tool: String,
    /// Its arguments, as the tool takes them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Value>,
    /// Or as they were typed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<CommandFlag>,
}

/// Reply to a request: the outcome of the call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CallSocketReply {
    /// How it ended.
    pub outcome: Outcome,
    /// What the tool said, or why it was not called.
    pub text: String,
}

impl CallSocketReply {
    /// It was not done, because …
    pub(crate) fn failed(code: ErrorCode, text: impl Into<String>) -> Self {
        Self {
            outcome: Outcome::Failed(code),
            text: text.into(),
        }
    }
}

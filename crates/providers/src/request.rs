//! A model request: built by a pure function from the journal.

use std::{collections::HashMap, path::PathBuf, sync::Arc};

use rooftree_protocol::{
    BlobId, Effort, Part, PermissionMode, SessionId, ToolResult, ToolSpec, event::ReplyPart,
};
use serde_json::Value;

/// One request to a model. Cheap to clone: the history is shared, not copied.
#[derive(Clone, Debug)]
pub struct ModelRequest {
    /// The provider's name of the model.
    pub model: String,
    /// Reasoning effort.
    pub effort: Option<Effort>,
    /// The agent definition that sends it; a scripted model selects its answer by it.
    pub agent: Arc<str>,
    /// System prompt.
    pub system: Arc<str>,
    /// The conversation so far, oldest first.
    pub messages: Arc<Vec<Arc<ModelMessage>>>,
    /// Tools it may call; empty for none.
    pub tools: Arc<[ToolSpec]>,
    /// Whether the model must call a tool, and which.
    pub tool_choice: ToolChoice,
    /// JSON Schema of structured output, if the caller wants data instead of prose.
    pub schema: Option<Arc<Value>>,
    /// Output limit in tokens; the model's own limit if absent.
    pub max_output: Option<u64>,
    /// The bytes of the images and files in the conversation.
    pub media: MediaBytes,
    /// The session: a stable id for providers that cache or resume by one.
    pub session: SessionId,
    /// How often this same request has failed before.
    pub attempt: u32,
    /// Working directory and permissions of the session; only used by programs that act by themselves.
    pub workplace: Arc<Workplace>,
}

/// Working directory and permissions of a session, for a model that is a program with its own tools.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Workplace {
    /// The session's directory.
    pub directory: PathBuf,
    /// The permission mode. A program cannot ask, so it gets nothing beyond this.
    pub mode: PermissionMode,
    /// Rules that take precedence over the mode.
    pub rules: CallRules,
}

/// Permission rules, as people write them: `Tool` or `Tool(subject)`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallRules {
    /// Calls that need no confirmation.
    pub allow: Vec<String>,
    /// Calls that are refused in every mode.
    pub deny: Vec<String>,
}

/// The bytes of the media in a conversation. Missing ones are described in words instead.
pub type MediaBytes = Arc<HashMap<BlobId, Arc<[u8]>>>;

/// Whether a model must call a tool, and which.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ToolChoice {
    /// The model chooses.
    #[default]
    Auto,
    /// No tool: answer in words.
    Nothing,
    /// Any tool.
    Something,
    /// This tool.
    This(String),
}

/// One message of the conversation, as models see it.
#[derive(Clone, Debug, PartialEq)]
pub enum ModelMessage {
    /// From the user, or from another sender such as an agent.
    User(Vec<Part>),
    /// From the model itself, verbatim.
    Assistant {
        /// `provider/model` that wrote it; thinking is only replayed to its own provider.
        model: String,
        /// Its parts, in order.
        parts: Vec<ReplyPart>,
    },
    /// Results of the calls in the assistant message before it, in call order.
    Results(Vec<ToolResult>),
}

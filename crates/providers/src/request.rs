//! What we ask of a model: built by a pure function from the journal.

use std::{collections::HashMap, path::PathBuf, sync::Arc};

use rooftree_protocol::{
    BlobId, Effort, Part, PermissionMode, SessionId, ToolResult, ToolSpec, event::ReplyPart,
};
use serde_json::Value;

/// One question to a model. Cheap to clone: the history is shared, not copied.
#[derive(Clone, Debug)]
pub struct ModelRequest {
    /// What the provider calls the model.
    pub model: String,
    /// How hard it should think.
    pub effort: Option<Effort>,
    /// The definition that asks; a scripted model answers by it.
    pub agent: Arc<str>,
    /// System prompt.
    pub system: Arc<str>,
    /// The conversation so far, oldest first.
    pub messages: Arc<Vec<Arc<ModelMessage>>>,
    /// Tools it may call; empty for none.
    pub tools: Arc<[ToolSpec]>,
    /// Whether and what it must call.
    pub tool_choice: ToolChoice,
    /// JSON Schema its answer must fit, if the caller wants data instead of prose.
    pub schema: Option<Arc<Value>>,
    /// Tokens it may write; the model's own limit if absent.
    pub max_output: Option<u64>,
    /// The bytes of the images the conversation names.
    pub media: MediaBytes,
    /// Whose conversation this is: a stable name for providers that cache or resume by one.
    pub session: SessionId,
    /// How often this same question has failed before.
    pub attempt: u32,
    /// Where the session works; only programs that act by themselves need to know.
    pub workplace: Arc<Workplace>,
}

/// Where a session works and how freely, for a model that is a program with tools of its own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Workplace {
    /// The session's directory.
    pub directory: PathBuf,
    /// What may happen without asking. A program cannot ask, so it gets nothing beyond this.
    pub mode: PermissionMode,
    /// What is allowed or refused whatever the mode says.
    pub rules: CallRules,
}

/// Rules about calls, as people write them: `Tool` or `Tool(subject)`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallRules {
    /// Calls that need no question.
    pub allow: Vec<String>,
    /// Calls that are refused in every mode.
    pub deny: Vec<String>,
}

/// The bytes behind the images of a conversation. What is missing is described in words instead.
pub type MediaBytes = Arc<HashMap<BlobId, Arc<[u8]>>>;

/// Whether and what a model must call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ToolChoice {
    /// As it sees fit.
    #[default]
    Auto,
    /// Nothing: answer in words.
    Nothing,
    /// Something.
    Something,
    /// This tool.
    This(String),
}

/// One message of the conversation, as models see it.
#[derive(Clone, Debug, PartialEq)]
pub enum ModelMessage {
    /// From whoever talks to the agent.
    User(Vec<Part>),
    /// From the model itself, verbatim.
    Assistant {
        /// `provider/model` that wrote it; thinking is only replayed to its own provider.
        model: String,
        /// Its parts, in order.
        parts: Vec<ReplyPart>,
    },
    /// What became of the calls of the assistant message before it, in call order.
    Results(Vec<ToolResult>),
}

//! What we ask of a model: built by a pure function from the journal.

use std::sync::Arc;

use rooftree_protocol::{Effort, Part, ToolResult, ToolSpec, event::ReplyPart};

/// One question to a model. Cheap to clone: the history is shared, not copied.
#[derive(Clone, Debug)]
pub struct Request {
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
    /// How often this same question has failed before.
    pub attempt: u32,
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

//! What comes back from a model: deltas, then one whole reply.

use rooftree_protocol::{
    Usage,
    event::{ReplyPart, StopReason},
};

/// A piece of an answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Chunk {
    /// More text.
    Text(String),
    /// More thinking.
    Thinking(String),
    /// The whole reply; always the last chunk.
    Reply(Reply),
}

/// A whole reply. Call ids in it are the provider's own; the runtime gives its own.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    /// Everything it consists of, in order.
    pub parts: Vec<ReplyPart>,
    /// Why it ended.
    pub stop: StopReason,
    /// What it cost.
    pub usage: Usage,
    /// The provider's name for the request.
    pub request: Option<String>,
}

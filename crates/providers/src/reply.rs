//! What comes back from a model: deltas, then one whole reply.

use std::borrow::Cow;

use rooftree_protocol::{
    Usage,
    event::{NoticeLevel, ReplyPart, StopReason},
};

/// A piece of an answer.
#[derive(Clone, Debug, PartialEq)]
pub enum ReplyChunk {
    /// More text.
    Text(String),
    /// More thinking.
    Thinking(String),
    /// More of a tool call's arguments, as the model writes them.
    ToolInput {
        /// Which call of this reply, from zero.
        index: usize,
        /// Its tool; empty after the first piece.
        tool: String,
        /// The piece.
        text: String,
    },
    /// Something people should know while the answer comes: what a program does by itself, a warning.
    Note {
        /// How bad it is.
        level: NoticeLevel,
        /// Which note, for programs.
        code: Cow<'static, str>,
        /// In words.
        message: String,
    },
    /// The whole reply; always the last chunk.
    Reply(ModelReply),
}

/// A whole reply. Call ids in it are the provider's own; the runtime gives its own.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelReply {
    /// Everything it consists of, in order.
    pub parts: Vec<ReplyPart>,
    /// Why it ended.
    pub stop: StopReason,
    /// What it cost.
    pub usage: Usage,
    /// The provider's name for the request.
    pub request: Option<String>,
    /// What of the conversation could not be carried over to this model, in words for people.
    pub dropped: Vec<String>,
}

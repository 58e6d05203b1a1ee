//! A model's answer: streamed chunks, the last of which is the whole reply.

use std::borrow::Cow;

use rooftree_protocol::{
    Usage,
    event::{NoticeLevel, ReplyPart, StopReason},
};

/// A chunk of a streamed answer.
#[derive(Clone, Debug, PartialEq)]
pub enum ReplyChunk {
    /// A text delta.
    Text(String),
    /// A thinking delta.
    Thinking(String),
    /// A delta of a tool call's arguments, as the model writes them.
    ToolInput {
        /// Index of the call in this reply, from zero.
        index: usize,
        /// Its tool; empty after the first piece.
        tool: String,
        /// The delta.
        text: String,
    },
    /// A notice for the user during the answer: an action of a program, a warning.
    Note {
        /// Severity.
        level: NoticeLevel,
        /// Code of the notice, for programs.
        code: Cow<'static, str>,
        /// The message.
        message: String,
    },
    /// The whole reply; always the last chunk.
    Reply(ModelReply),
}

/// A whole reply. Call ids in it are the provider's own; the runtime gives its own.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelReply {
    /// Its parts, in order.
    pub parts: Vec<ReplyPart>,
    /// Why it ended.
    pub stop: StopReason,
    /// Tokens and cost.
    pub usage: Usage,
    /// The provider's id for the request.
    pub request: Option<String>,
    /// What of the conversation could not be sent to this model, in words for people.
    pub dropped: Vec<String>,
}

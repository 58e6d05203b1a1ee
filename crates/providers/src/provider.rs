//! The `Provider` trait: answers a model request as a stream.

use futures::stream::BoxStream;

use crate::{Error, ModelRequest, ReplyChunk, Workplace};

/// Stream of a provider's answer: deltas as they come, the last chunk a whole reply.
pub type ReplyStream = BoxStream<'static, Result<ReplyChunk, Error>>;

/// Sends requests to one kind of model.
///
/// Contract: the loop in `runtime` is the caller. The stream yields any number of
/// deltas and then exactly one [`ReplyChunk::Reply`], after which it ends; a stream that
/// ends without one was cut and is treated as [`Error::Broken`]. An `Err` is final
/// for this stream. Dropping the stream cancels the request at its source. Providers do
/// not retry; the caller does, because waiting must be visible and durable.
pub trait Provider: Send + Sync {
    /// Sends a request and streams the answer.
    fn stream(&self, request: ModelRequest) -> ReplyStream;

    /// What a model that acts by itself may do beyond these tools (canonical names) at this workplace,
    /// in words for people. Empty for models whose calls are made by the runtime, which checks each.
    ///
    /// Called before a run starts, and by commands that show an agent's permissions: a strict agent
    /// does not start if the list is not empty.
    fn unenforced(&self, tools: &[&str], workplace: &Workplace) -> Vec<String> {
        let _ = (tools, workplace);
        Vec::new()
    }

    /// Whether the model acts by itself with tools of its own, so that it can call none of the runtime's.
    fn has_own_tools(&self) -> bool {
        false
    }
}
